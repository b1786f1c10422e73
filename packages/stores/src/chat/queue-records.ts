import { isImageURL, isRecord } from "@sluice/core/internal";
import { type ImageInput, imageURLs } from "./attachments.js";
import { QUEUED } from "./message.js";
import type { MessageQueue, QueueEntry, TimedMessage } from "./queue.js";
import { notSent } from "./turn-ends.js";

/** Records of a chat's queue in its storage. */
export interface QueueRecords {
  /** False while the files of a message are read; `changed` follows. An absent record would look like a dropped message. */
  isReady(key: string): boolean;
  /** Writes a message as a record; undefined for one that left the queue. */
  recordOf(key: string): unknown;
  /** Merges records of a storage. Returns the ids of messages that this tab did not know. */
  merge(records: ReadonlyMap<string, unknown>): readonly string[];
  /** Drops the messages of other tabs that are not in a storage any more. */
  forgetUnless(records: ReadonlyMap<string, unknown>): void;
  /** Makes this tab the sender of a message. Resolves when the message left the queue. */
  takeOver(id: string): Promise<unknown>;
  /** Leaves a message to the user, where tabs can't agree on its sender. */
  hold(id: string): void;
}

/**
 * Creates the records of a queue.
 *
 * @param changed called with the key of a record that can be written now, or has to be removed
 */
export function createQueueRecords(queue: MessageQueue, changed: (key: string) => void): QueueRecords {
  /** Messages whose files are read. A chat that is closed meanwhile lets go of its queue, and not of them. */
  const reading = new Map<string, QueueEntry>();
  /** Messages of closed tabs that this tab sends. */
  const taken = new Map<string, QueueEntry>();
  return {
    isReady(key) {
      const entry = entryAt(key);
      if (!entry || isStorable(entry.images)) return true;
      reading.set(entry.id, entry);
      void readFiles(entry).then((isRead) => {
        if (isRead) changed(key);
        reading.delete(entry.id);
      });
      return false;
    },
    recordOf(key) {
      const entry = entryAt(key);
      if (!entry) endTaken(idOf(key));
      return entry && recordOf(entry);
    },
    merge: (records) =>
      [...records].flatMap(([key, record]) =>
        key.startsWith(QUEUED) && mergeOne(key, record) ? [idOf(key)] : [],
      ),
    forgetUnless(records) {
      for (const entry of queue.entries.values())
        if (entry.phase === "theirs" && !records.has(QUEUED + entry.id)) queue.remove(entry, elsewhere());
    },
    async takeOver(id) {
      const entry = queue.entries.get(id);
      if (!entry) return;
      entry.phase = "ours";
      taken.set(id, entry);
      await entry.turn;
      taken.delete(id);
    },
    hold(id) {
      const entry = queue.entries.get(id);
      if (entry) entry.phase = "held";
    },
  };

  /** Ends the turn of a message that came into the thread by a late write of its own tab: no turn begins here. */
  function endTaken(id: string): void {
    const entry = taken.get(id);
    if (entry && entry.phase !== "starting") entry.settle(notSent(elsewhere()));
  }

  function entryAt(key: string): QueueEntry | undefined {
    const id = idOf(key);
    return queue.entries.get(id) ?? (queue.isGone(id) ? undefined : reading.get(id));
  }

  /** Returns true for a message that this tab did not know. */
  function mergeOne(key: string, record: unknown): boolean {
    const id = idOf(key);
    const known = queue.entries.get(id);
    if (record === undefined) {
      if (known) queue.remove(known, elsewhere());
      return false;
    }
    if (known) return false;
    if (queue.isGone(id)) {
      changed(key);
      return false;
    }
    const message = messageIn(record);
    if (message) queue.insert(id, message);
    return message !== undefined;
  }
}

function idOf(key: string): string {
  return key.slice(QUEUED.length);
}

function elsewhere(): Error {
  return new DOMException("another tab has sent or dropped this message", "AbortError");
}

/** Replaces files by data URLs, which can be stored. A file that can't be read is refused when the message is sent. */
async function readFiles(entry: QueueEntry): Promise<boolean> {
  try {
    entry.images = await imageURLs(entry.images ?? [], "", new AbortController().signal);
    return true;
  } catch {
    return false;
  }
}

function isStorable(images: readonly ImageInput[] = []): boolean {
  return images.every((image) => typeof image === "string");
}

function recordOf({ content, images, versionOf, queuedAt }: QueueEntry): unknown {
  return { content, queuedAt, ...(images && { images }), ...(versionOf !== undefined && { versionOf }) };
}

/** Reads a message from a record. Any script of the origin may write to a storage. */
function messageIn(record: unknown): TimedMessage | undefined {
  if (!isRecord(record)) return undefined;
  const { content, images, versionOf, queuedAt } = record;
  const urls = Array.isArray(images) ? images.filter(isURL) : undefined;
  if (typeof content !== "string" || !(content.trim() || urls?.length)) return undefined;
  return {
    content,
    images: urls,
    versionOf: typeof versionOf === "string" ? versionOf : undefined,
    queuedAt: Number.isFinite(queuedAt) ? (queuedAt as number) : 0,
  };
}

function isURL(image: unknown): image is string {
  return typeof image === "string" && isImageURL(image);
}
