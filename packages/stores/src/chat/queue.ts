import { createRandomId } from "@sluice/core/extend";
import type { ImageInput } from "./attachments.js";
import { type ChatTurn, QUEUED } from "./message.js";
import { createSentElsewhereTurn, createUnsentTurn } from "./turn-ends.js";

/** A message to send when the response in flight has ended. */
export interface QueuedMessage {
  readonly content: string;
  readonly images?: readonly ImageInput[] | undefined;
  /** Id of the user's message that this one is another version of; absent from a new message. */
  readonly versionOf?: string | undefined;
}

/** A queued message with its time in Unix milliseconds, which orders the queue. */
export interface TimedMessage extends QueuedMessage {
  readonly queuedAt: number;
}

/**
 * Phase of a queued message.
 *
 * - `ours`: this tab sends it
 * - `theirs`: another tab sends it, or did until it was closed
 * - `held`: only the user sends it
 * - `starting`: it is being added to the thread
 */
type Phase = "ours" | "theirs" | "held" | "starting";

/** A message in the queue. */
export interface QueueEntry<Options = unknown> extends TimedMessage {
  /** Id of the message in the thread. The id prevents a second send. */
  readonly id: string;
  /** Options of the caller; undefined for a message that an earlier page has queued. */
  readonly options?: Options | undefined;
  /** Turn of the message, once it is sent or dropped. */
  readonly turn: Promise<ChatTurn>;
  readonly resolve: (turn: ChatTurn | Promise<ChatTurn>) => void;
  images?: readonly ImageInput[] | undefined;
  phase: Phase;
}

/** Messages waiting to be sent, oldest first. */
export interface MessageQueue<Options = unknown> {
  /** The waiting messages for display; the same array until one of them changes. */
  readonly shown: readonly { readonly id: string; readonly content: string }[];
  readonly entries: ReadonlyMap<string, QueueEntry<Options>>;
  add(message: QueuedMessage, options: Options): QueueEntry<Options>;
  /** Inserts a message of another page, ordered by its time. */
  insert(id: string, message: TimedMessage): void;
  /** True for a message that has left the queue. A slow storage may still return it. */
  isGone(id: string): boolean;
  /** Lists the messages that this tab may send; the held ones too if `includesHeld`. */
  listSendable(includesHeld: boolean): readonly QueueEntry<Options>[];
  /** Drops one message. */
  drop(id: string, error: Error): void;
  /** Drops the messages of this page, and those of other pages if `isAll`. */
  dropAll(error: Error, isAll: boolean): void;
  /** Drops a message, unless it is being added to the thread. */
  remove(entry: QueueEntry<Options>, error: Error): void;
  /** Removes the messages that the thread has by now. */
  prune(): void;
  /** Ends an attempt to send. A message that is not in the thread is dropped; without a caller it is held. */
  endAttempt(entry: QueueEntry<Options>): void;
  /** Empties the queue. The records stay in the storage. */
  close(error: Error): void;
}

/**
 * Creates the queue of a chat.
 *
 * @param isSent true for the id of a message in the thread
 * @param noteChange called with the key of each changed record
 */
export function createQueue<Options>(
  isSent: (id: string) => boolean,
  noteChange: (key: string) => void,
): MessageQueue<Options> {
  let entries = new Map<string, QueueEntry<Options>>();
  let shown: MessageQueue["shown"] | undefined;
  const gone = new Set<string>();
  const listAll = () => [...entries.values()];

  return {
    get shown() {
      shown ??= listAll().map(({ id, content }) => ({ id, content }));
      return shown;
    },
    get entries() {
      return entries;
    },
    add(message, options) {
      const queuedAt = Math.max(Date.now(), (listAll().at(-1)?.queuedAt ?? 0) + 1);
      const entry = createEntry<Options>(createRandomId(), { ...message, queuedAt }, options);
      entries.set(entry.id, entry);
      shown = undefined;
      noteChange(QUEUED + entry.id);
      return entry;
    },
    insert(id, message) {
      const sorted = [...listAll(), createEntry<Options>(id, message)].sort(
        // all tabs order messages of the same millisecond alike
        (one, other) => one.queuedAt - other.queuedAt || (one.id < other.id ? -1 : 1),
      );
      entries = new Map(sorted.map((each) => [each.id, each]));
      shown = undefined;
    },
    isGone: (id) => gone.has(id) || isSent(id),
    listSendable: (includesHeld) =>
      listAll().filter(({ phase }) => phase === "ours" || (includesHeld && phase === "held")),
    drop(id, error) {
      const entry = entries.get(id);
      if (entry) remove(entry, error);
    },
    dropAll(error, isAll) {
      for (const entry of listAll()) if (isAll || entry.options) remove(entry, error);
    },
    remove,
    prune() {
      for (const entry of entries.values()) {
        if (!isSent(entry.id)) continue;
        // if this page has not sent the message, another tab has
        if (entry.phase === "starting") dequeue(entry.id);
        else end(entry, createSentElsewhereTurn());
      }
    },
    endAttempt(entry) {
      if (!entries.has(entry.id)) return;
      if (entry.options) dequeue(entry.id);
      else entry.phase = "held";
    },
    close(error) {
      for (const { resolve } of listAll()) resolve(createUnsentTurn(error));
      entries = new Map();
      shown = undefined;
    },
  };

  function remove(entry: QueueEntry<Options>, error: Error): void {
    if (entry.phase !== "starting") end(entry, createUnsentTurn(error));
  }

  function end({ id, resolve }: QueueEntry<Options>, turn: ChatTurn): void {
    dequeue(id);
    resolve(turn);
  }

  function dequeue(id: string): void {
    entries.delete(id);
    gone.add(id);
    shown = undefined;
    noteChange(QUEUED + id);
  }
}

/** Creates the entry of a message. */
function createEntry<Options>(id: string, message: TimedMessage, options?: Options): QueueEntry<Options> {
  let resolve!: QueueEntry<Options>["resolve"];
  const turn = new Promise<ChatTurn>((resolveTurn) => {
    resolve = resolveTurn;
  });
  return { ...message, id, options, turn, resolve, phase: options ? "ours" : "theirs" };
}
