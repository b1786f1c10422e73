import { createRandomId } from "@sluice/core/extend";
import type { Question } from "./insertion-point.js";
import { type ChatTurn, createUnsentTurn } from "./message.js";

/** A message in the queue. */
interface QueueEntry<Options> extends Question {
  /** Id of the message, in the queue and later in the thread. */
  readonly id: string;
  /** Options of the caller. */
  readonly options: Options;
  /** Ends the promise of the caller, once the message is sent or dropped. */
  readonly resolve: (turn: ChatTurn | Promise<ChatTurn>) => void;
}

/** Messages that wait for the response in flight, oldest first. They last as long as the page. */
export interface MessageQueue<Options> {
  /** The waiting messages for display; the same array until one of them changes. */
  readonly shown: readonly { readonly id: string; readonly content: string }[];
  /** Adds a message. Resolves to its turn. */
  add(message: Question, options: Options): Promise<ChatTurn>;
  /** Removes the oldest message, and returns it to send it. */
  takeFirst(): QueueEntry<Options> | undefined;
  /** Drops the message with this id, or all messages. Their turns are `not-sent`. */
  drop(error: Error, id?: string): void;
}

/** Creates an empty queue. */
export function createQueue<Options>(): MessageQueue<Options> {
  const entries = new Map<string, QueueEntry<Options>>();
  let shown: MessageQueue<Options>["shown"] | undefined;
  return {
    get shown() {
      shown ??= [...entries.values()].map(({ id, content }) => ({ id, content }));
      return shown;
    },
    add(message, options) {
      const id = createRandomId();
      shown = undefined;
      return new Promise((resolve) => entries.set(id, { ...message, id, options, resolve }));
    },
    takeFirst() {
      const [first] = entries.values();
      if (first) remove(first.id);
      return first;
    },
    drop(error, id) {
      for (const entry of [...entries.values()]) {
        if (id !== undefined && entry.id !== id) continue;
        remove(entry.id);
        entry.resolve(createUnsentTurn(error));
      }
    },
  };

  function remove(id: string): void {
    entries.delete(id);
    shown = undefined;
  }
}
