import { type Client, ConfigurationError, type RecordStorage, subscribeToEvents } from "@sluice/core";
import { isCreatePath, isRecord, noteOptions } from "@sluice/core/extend";
import { reportStorageFailure } from "../base/platform-limits.js";
import { getClientStorage } from "../storage/client-storage.js";
import { registerForget } from "../storage/forget.js";
import { createRecordWriter, type RecordWriter } from "../storage/record-writer.js";
import { addStep, type CallEvent, createReceipt, isCallEvent, type Receipt } from "./receipt.js";

/** Options of {@link recordReceipts}. */
interface RecordReceiptsOptions {
  /** Storage of the receipts, e.g. `indexedDBStorage()`, or `fileStorage("receipts.jsonl")` in Node and Deno. */
  readonly storage: RecordStorage;
}

/**
 * Stores a receipt for each later request of a client that may cost money: chats, images, video tasks, assets and epsilon
 * requests. It includes the requests of stores, batches and tools. A receipt is stored before the request is sent,
 * and again at its end. After a crash it stays `pending`, with the billing `maybe`. A response that a proxy stores ends
 * its receipt when it is read again, e.g. after a reload. {@link listReceipts} reads the receipts.
 *
 * A receipt takes about 500 bytes, and is stored under the month (UTC) of its request. `signOut(client)` removes the
 * receipts of the user. A storage that fails emits `storage-error`; its receipts are written when it works again.
 *
 * @returns a function that ends the recording; requests in flight get their end
 * @throws {ConfigurationError} without a client or a storage
 * @example
 * ```ts
 * const storage = indexedDBStorage();
 * recordReceipts(client, { storage });
 * await generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef" });
 * const [receipt] = await listReceipts(client, { storage });
 * console.log(receipt?.billing, receipt?.requestId);
 * ```
 */
export function recordReceipts(client: Client, options: RecordReceiptsOptions): () => void {
  noteOptions("recordReceipts or listReceipts", options, client);
  const { storage } = options;
  assertStorage(storage);
  const clientStorage = getClientStorage(client, storage);
  const writers = new Map<string, RecordWriter>();
  const openReceipts = new Map<string, Receipt>();
  const report = (error: unknown) => reportStorageFailure(client, error);
  let isStopped = false;
  let signOuts = 0;
  const unregister = registerForget(client, () => {
    signOuts += 1;
    openReceipts.clear();
  });
  const unsubscribe = subscribeToEvents(client, (event) => {
    if (!isCallEvent(event)) return;
    if (event.path.startsWith(STREAMS)) return endResumed(event).catch(report);
    if (!isCreatePath(event.path)) return;
    const now = Date.now();
    const known = openReceipts.get(event.callId);
    // a call that began before the recording or after its end gets none
    if (!known && (isStopped || event.type !== "request" || event.attempt > 1)) return;
    const receipt = addStep(known ?? createReceipt(event, now), event, now);
    openReceipts.set(event.callId, receipt);
    // the client sends the request when its receipt is stored
    if (event.type === "request" || event.type === "end") return write(receipt);
  });
  return () => {
    isStopped = true;
    close();
  };

  async function write({ callId, startedAt }: Receipt): Promise<void> {
    const writer = getWriter(formatMonth(startedAt));
    writer.mark(callId);
    await writer.write();
    // a receipt that could not be written stays for the next attempt
    if (openReceipts.get(callId)?.endedAt !== undefined && !writer.unsaved.has(callId))
      openReceipts.delete(callId);
    if (isStopped) close();
  }

  /** Ends the receipt of a stored response that was read from the proxy, e.g. after a reload. */
  async function endResumed(event: CallEvent): Promise<void> {
    // without a part of the response, an error says nothing about its request
    if (event.type !== "end" || (event.error !== undefined && event.responseId === undefined)) return;
    const now = Date.now();
    const signOutsBefore = signOuts;
    const receipts = await listReceipts(client, { storage, since: now - MAX_STORED_MS });
    const receipt = receipts.findLast((candidate) => isSameResponse(candidate, event));
    if (receipt?.billing !== "maybe" || openReceipts.has(receipt.callId) || signOuts > signOutsBefore) return;
    openReceipts.set(receipt.callId, addStep(receipt, event, now));
    await write(receipt);
  }

  /** Stops listening after the end of the last recorded request. */
  function close(): void {
    if (openReceipts.size > 0) return;
    unsubscribe();
    unregister();
  }

  function getWriter(month: string): RecordWriter {
    const known = writers.get(month);
    if (known) return known;
    const created = createRecordWriter({
      client,
      storage: clientStorage,
      collection: formatCollection(month),
      createRecord: (key) => openReceipts.get(key),
      onFailure: report,
    });
    writers.set(month, created);
    return created;
  }
}

/** Begin of the path of a response that a proxy stores. */
const STREAMS = "/v1/chat/streams/";
/** A proxy stores an unread response for less than this time, in milliseconds. */
const MAX_STORED_MS = 24 * 60 * 60 * 1000;

/** Compares the unique ids. A page that was closed during a response stored only the id of the message. */
function isSameResponse(receipt: Receipt, event: CallEvent & { type: "end" }): boolean {
  const ids = ["messageId", "responseId"] as const;
  return ids.some((id) => receipt[id] !== undefined && receipt[id] === event[id]);
}

/** Options of {@link listReceipts}. */
interface ListReceiptsOptions {
  /** The storage that was given to {@link recordReceipts}. */
  readonly storage: RecordStorage;
  /** Start of the period; Unix milliseconds. @default 90 days ago */
  readonly since?: number | undefined;
  /** End of the period, excluded; Unix milliseconds. @default no end */
  readonly until?: number | undefined;
}

/** Longest period without `since`, in milliseconds. */
const DEFAULT_PERIOD_MS = 90 * 24 * 60 * 60 * 1000;

/**
 * Reads the receipts of a client's user from a storage, the oldest first, with one read for each month of the period.
 * `calculateCost(receipts, prices)` of `@sluice/prices` adds up their costs.
 *
 * @throws {ConfigurationError} without a client or a storage, and for a period that ends before it begins
 * @throws the error of the storage
 * @example
 * ```ts
 * const receipts = await listReceipts(client, { storage, since: Date.UTC(2026, 10) });
 * const uncertain = receipts.filter(({ billing }) => billing === "maybe");
 * ```
 */
export async function listReceipts(
  client: Client,
  options: ListReceiptsOptions,
): Promise<readonly Receipt[]> {
  noteOptions("recordReceipts or listReceipts", options, client);
  const { storage, since, until = Number.POSITIVE_INFINITY } = options;
  assertStorage(storage);
  const now = Date.now();
  const first = since ?? now - DEFAULT_PERIOD_MS;
  if (!(first < until))
    throw new ConfigurationError("since: must be a time before `until`, in Unix milliseconds");
  const clientStorage = getClientStorage(client, storage);
  const receipts: Receipt[] = [];
  for (const month of listMonths(first, Math.min(until, now)))
    for (const record of (await clientStorage.read(formatCollection(month))).values())
      if (isReceipt(record) && record.startedAt >= first && record.startedAt < until) receipts.push(record);
  return receipts.sort((a, b) => a.startedAt - b.startedAt);
}

function* listMonths(first: number, last: number): Generator<string> {
  const start = new Date(first);
  for (let month = Date.UTC(start.getUTCFullYear(), start.getUTCMonth()); month <= last; ) {
    yield formatMonth(month);
    const current = new Date(month);
    month = Date.UTC(current.getUTCFullYear(), current.getUTCMonth() + 1);
  }
}

/** Formats the month of a time in UTC: `2026-11`. */
function formatMonth(time: number): string {
  return new Date(time).toISOString().slice(0, 7);
}

function formatCollection(month: string): string {
  return `receipts/${month}`;
}

function isReceipt(record: unknown): record is Receipt {
  return isRecord(record) && typeof record["callId"] === "string" && typeof record["startedAt"] === "number";
}

function assertStorage(storage: unknown): void {
  if (!isRecord(storage) || typeof storage["read"] !== "function")
    throw new ConfigurationError("storage: give a storage, e.g. { storage: indexedDBStorage() }");
}
