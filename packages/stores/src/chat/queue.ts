import { createRandomId } from "@sluice/core/internal";
import type { ImageInput } from "./attachments.js";
import { type ChatTurn, QUEUED } from "./message.js";
import { notSent, sentElsewhere } from "./turn-ends.js";

/** Message that is sent when the answer in flight has ended. */
export interface QueuedMessage {
  readonly content: string;
  readonly images?: readonly ImageInput[] | undefined;
  /** Message of the user that it is another version of; absent from a new message. */
  readonly versionOf?: string | undefined;
}

/** A queued message and its time, which orders the queue; Unix milliseconds. */
export interface TimedMessage extends QueuedMessage {
  readonly queuedAt: number;
}

/**
 * Phase of a queued message.
 *
 * - `ours`: this tab sends it
 * - `theirs`: another tab does, or did until it was closed
 * - `held`: only the user sends it
 * - `starting`: it is being added to the thread
 */
type Phase = "ours" | "theirs" | "held" | "starting";

/** A message in the queue. */
export interface QueueEntry<Options = unknown> extends TimedMessage {
  /** Id that the message gets in the thread: a message that is there is sent once and no more. */
  readonly id: string;
  /** Options of the caller; undefined for a message of an earlier page, whose caller is gone. */
  readonly options?: Options | undefined;
  /** Turn of the message, once it is sent or dropped. */
  readonly turn: Promise<ChatTurn>;
  readonly settle: (turn: ChatTurn | Promise<ChatTurn>) => void;
  images?: readonly ImageInput[] | undefined;
  phase: Phase;
}

/** Messages that wait for their turn, oldest first. */
export interface MessageQueue<Options = unknown> {
  /** The messages that wait, as they are shown; the same array until one of them changes. */
  readonly shown: readonly { readonly id: string; readonly content: string }[];
  readonly entries: ReadonlyMap<string, QueueEntry<Options>>;
  add(message: QueuedMessage, options: Options): QueueEntry<Options>;
  /** Adds a message of another page at its place. */
  insert(id: string, message: TimedMessage): void;
  /** True for a message that has left the queue. A slow storage may still return it. */
  isGone(id: string): boolean;
  /** Messages that this tab may send; without the held ones unless `isAsked`. */
  sendable(isAsked: boolean): readonly QueueEntry<Options>[];
  /** Drops one message. */
  drop(id: string, error: Error): void;
  /** Drops the messages of this page, and all others if `isAll`. */
  dropAll(error: Error, isAll: boolean): void;
  /** Drops a message, unless it is being added to the thread. */
  remove(entry: QueueEntry<Options>, error: Error): void;
  /** Removes the messages that are in the thread now. */
  prune(): void;
  /** Ends the attempt to send a message. One that is not in the thread is dropped, or held if it has no caller. */
  tried(entry: QueueEntry<Options>): void;
  /** Lets go of all messages, and leaves their records. */
  close(error: Error): void;
}

/**
 * Creates the queue of a chat.
 *
 * @param isSent true for the id of a message in the thread
 * @param changed called with the key of each record that has changed
 */
export function createQueue<Options>(
  isSent: (id: string) => boolean,
  changed: (key: string) => void,
): MessageQueue<Options> {
  let entries = new Map<string, QueueEntry<Options>>();
  let shown: MessageQueue["shown"] | undefined;
  const gone = new Set<string>();
  const all = () => [...entries.values()];

  return {
    get shown() {
      shown ??= all().map(({ id, content }) => ({ id, content }));
      return shown;
    },
    get entries() {
      return entries;
    },
    add(message, options) {
      const queuedAt = Math.max(Date.now(), (all().at(-1)?.queuedAt ?? 0) + 1);
      const entry = entryOf<Options>(createRandomId(), { ...message, queuedAt }, options);
      entries.set(entry.id, entry);
      shown = undefined;
      changed(QUEUED + entry.id);
      return entry;
    },
    insert(id, message) {
      const sorted = [...all(), entryOf<Options>(id, message)].sort(
        // of the same millisecond in the same order in all tabs
        (one, other) => one.queuedAt - other.queuedAt || (one.id < other.id ? -1 : 1),
      );
      entries = new Map(sorted.map((each) => [each.id, each]));
      shown = undefined;
    },
    isGone: (id) => gone.has(id) || isSent(id),
    sendable: (isAsked) => all().filter(({ phase }) => phase === "ours" || (isAsked && phase === "held")),
    drop(id, error) {
      const entry = entries.get(id);
      if (entry) remove(entry, error);
    },
    dropAll(error, isAll) {
      for (const entry of all()) if (isAll || entry.options) remove(entry, error);
    },
    remove,
    prune() {
      for (const entry of entries.values()) {
        if (!isSent(entry.id)) continue;
        // what this page does not send itself, another device has sent
        if (entry.phase === "starting") leave(entry.id);
        else end(entry, sentElsewhere());
      }
    },
    tried(entry) {
      if (!entries.has(entry.id)) return;
      if (entry.options) leave(entry.id);
      else entry.phase = "held";
    },
    close(error) {
      for (const { settle } of all()) settle(notSent(error));
      entries = new Map();
      shown = undefined;
    },
  };

  function remove(entry: QueueEntry<Options>, error: Error): void {
    if (entry.phase !== "starting") end(entry, notSent(error));
  }

  function end({ id, settle }: QueueEntry<Options>, turn: ChatTurn): void {
    leave(id);
    settle(turn);
  }

  function leave(id: string): void {
    entries.delete(id);
    gone.add(id);
    shown = undefined;
    changed(QUEUED + id);
  }
}

/** Makes the entry of a message. */
function entryOf<Options>(id: string, message: TimedMessage, options?: Options): QueueEntry<Options> {
  let settle!: QueueEntry<Options>["settle"];
  const turn = new Promise<ChatTurn>((resolve) => {
    settle = resolve;
  });
  return { ...message, id, options, turn, settle, phase: options ? "ours" : "theirs" };
}
