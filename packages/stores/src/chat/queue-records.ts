import { isImageURL, isRecord } from "@sluice/core/extend";
import { type ImageInput, readImageURLs } from "./attachments.js";
import { QUEUED } from "./message.js";
import type { MessageQueue, QueueEntry, TimedMessage } from "./queue.js";
import { createUnsentTurn } from "./turn-ends.js";

/** Records of a chat's queue in its storage. */
export interface QueueRecords {
  /** Returns false while files of the message are read; `noteChange` follows. A missing record would mean a dropped message. */
  isReady(key: string): boolean;
  /** Creates the record of a message; undefined for a message that left the queue. */
  createRecord(key: string): unknown;
  /** Merges records of a storage. Returns the ids of messages that are new to this tab. */
  merge(records: ReadonlyMap<string, unknown>): readonly string[];
  /** Drops the messages of other tabs that the storage no longer has. */
  dropMissing(records: ReadonlyMap<string, unknown>): void;
  /** Makes this tab the sender of a message. Resolves when the message has left the queue. */
  takeOver(id: string): Promise<unknown>;
  /** Lets only the user send a message, because tabs can't agree on its sender. */
  hold(id: string): void;
}

/**
 * Creates the records of a queue.
 *
 * @param noteChange called with the key of a record to write or to remove
 */
export function createQueueRecords(queue: MessageQueue, noteChange: (key: string) => void): QueueRecords {
  /** Messages whose files are read. A close of the chat empties its queue, but not this map. */
  const reading = new Map<string, QueueEntry>();
  /** Messages of closed tabs that this tab sends. */
  const takenOver = new Map<string, QueueEntry>();
  return {
    isReady(key) {
      const entry = findEntry(key);
      if (!entry || isStorable(entry.images)) return true;
      reading.set(entry.id, entry);
      void readFiles(entry).then((isRead) => {
        if (isRead) noteChange(key);
        reading.delete(entry.id);
      });
      return false;
    },
    createRecord(key) {
      const entry = findEntry(key);
      if (!entry) endTakenOver(getId(key));
      return entry && toRecord(entry);
    },
    merge: (records) =>
      [...records].flatMap(([key, record]) =>
        key.startsWith(QUEUED) && mergeRecord(key, record) ? [getId(key)] : [],
      ),
    dropMissing(records) {
      for (const entry of queue.entries.values())
        if (entry.phase === "theirs" && !records.has(QUEUED + entry.id))
          queue.remove(entry, createTakenError());
    },
    async takeOver(id) {
      const entry = queue.entries.get(id);
      if (!entry) return;
      entry.phase = "ours";
      takenOver.set(id, entry);
      await entry.turn;
      takenOver.delete(id);
    },
    hold(id) {
      const entry = queue.entries.get(id);
      if (entry) entry.phase = "held";
    },
  };

  /** Ends the turn of a message that its own tab has added to the thread with a late write. This tab sends nothing. */
  function endTakenOver(id: string): void {
    const entry = takenOver.get(id);
    if (entry && entry.phase !== "starting") entry.resolve(createUnsentTurn(createTakenError()));
  }

  function findEntry(key: string): QueueEntry | undefined {
    const id = getId(key);
    return queue.entries.get(id) ?? (queue.isGone(id) ? undefined : reading.get(id));
  }

  /** Returns true for a message that is new to this tab. */
  function mergeRecord(key: string, record: unknown): boolean {
    const id = getId(key);
    const known = queue.entries.get(id);
    if (record === undefined) {
      if (known) queue.remove(known, createTakenError());
      return false;
    }
    if (known) return false;
    if (queue.isGone(id)) {
      noteChange(key);
      return false;
    }
    const message = parseMessage(record);
    if (message) queue.insert(id, message);
    return message !== undefined;
  }
}

function getId(key: string): string {
  return key.slice(QUEUED.length);
}

function createTakenError(): Error {
  return new DOMException("another tab has sent or dropped this message", "AbortError");
}

/** Replaces files by data URLs, which can be stored. An unreadable file fails when the message is sent. */
async function readFiles(entry: QueueEntry): Promise<boolean> {
  try {
    entry.images = await readImageURLs(entry.images ?? [], "", new AbortController().signal);
    return true;
  } catch {
    return false;
  }
}

function isStorable(images: readonly ImageInput[] = []): boolean {
  return images.every((image) => typeof image === "string");
}

function toRecord({ content, images, versionOf, queuedAt }: QueueEntry): unknown {
  return { content, queuedAt, ...(images && { images }), ...(versionOf !== undefined && { versionOf }) };
}

/** Parses a message from a record. Checks each field, because any script of the origin may write to a storage. */
function parseMessage(record: unknown): TimedMessage | undefined {
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
