import type { Client, Clock, RecordStorage } from "@sluice/core";
import { isRecord } from "@sluice/core/extend";
import { readBytes } from "@sluice/core/files";
import { getClientStorage, reportStorageFailure, waitForStorage } from "@sluice/stores/extend";
import { PART_BYTES } from "./part-request.js";
import { isUploadId, type UploadAtProxy } from "./upload-at-proxy.js";

/* Loaded by an upload with a storage. */

/** Maximum number of stored uploads. The oldest are removed first. */
const MAX_UPLOADS = 100;
/** Lifetime of a stored upload if the proxy sends no end, in milliseconds. */
const RETENTION_MS = 86_400_000;

/** The record of an upload. Its key is the identity of the file. */
interface UploadRecord {
  /** Id at the proxy. */
  readonly id: string;
  /** Time of the record, in Unix milliseconds. */
  readonly at: number;
  /** End of the record, in Unix milliseconds. */
  readonly until: number;
}

/** The stored upload of one file. */
export interface StoredUpload {
  /** Upload of an earlier page. A look-up at the proxy tells its offset. */
  readonly state: UploadAtProxy | undefined;
  /** Stores the id of an upload; undefined removes it. Never throws, and no call waits for it. */
  save(state: UploadAtProxy | undefined): void;
}

/**
 * Finds the upload of an earlier page.
 *
 * @returns undefined for a `Blob` without a name, and on platforms without hashes: such files can't be told apart
 * @throws {ValidationError} if the file can't be read; the reason of the signal
 */
export async function findStoredUpload(
  client: Client,
  storageOption: RecordStorage,
  file: Blob,
  signal: AbortSignal,
): Promise<StoredUpload | undefined> {
  const key = await computeIdentity(file, signal);
  if (key === undefined) return undefined;
  const storage = getClientStorage(client, storageOption);
  const collection = `uploads/${client.baseURL}`;
  const report = (error: unknown) => reportStorageFailure(client, error);
  const records = await readRecords(client.clock, storage, collection).catch(report);
  signal.throwIfAborted();
  const known = records?.get(key);
  let storedId = known && known.until > Date.now() ? known.id : undefined;
  let writing = Promise.resolve();
  return { state: storedId === undefined ? undefined : { id: storedId, offset: 0 }, save };

  function save(state: UploadAtProxy | undefined): void {
    if (state?.id === storedId && !state?.url) return;
    storedId = state?.id;
    const now = Date.now();
    const record = state && { id: state.id, at: now, until: state.expiresAt ?? now + RETENTION_MS };
    const changes = new Map<string, unknown>([...listOutdated(records ?? []), [key as string, record]]);
    const write = () => waitForStorage(client.clock, () => storage.write(collection, changes));
    writing = writing.then(write).catch(report);
  }
}

/** Computes the identity of a file: a hash of its name, size, type and date, and its first and last part. */
async function computeIdentity(file: Blob, signal: AbortSignal): Promise<string | undefined> {
  const { subtle } = (globalThis.crypto ?? {}) as Partial<Crypto>;
  if (!subtle || !(typeof File === "function" && file instanceof File)) return undefined;
  const { name, size, type, lastModified } = file;
  const first = await readBytes(file, 0, PART_BYTES, signal);
  const last = await readBytes(file, Math.max(0, size - PART_BYTES), size, signal);
  const hashes = await Promise.all([first, last].map((part) => subtle.digest("SHA-256", part)));
  const metadata = new TextEncoder().encode(JSON.stringify([name, size, type, lastModified]));
  const all = await new Blob([metadata, ...hashes]).arrayBuffer();
  return toHex(await subtle.digest("SHA-256", all));
}

function toHex(bytes: ArrayBuffer): string {
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Reads the valid records. A storage may contain any value. */
async function readRecords(
  clock: Clock,
  storage: RecordStorage,
  collection: string,
): Promise<Map<string, UploadRecord>> {
  const all = await waitForStorage(clock, () => storage.read(collection));
  return new Map([...all].map(([key, record]) => [key, readRecord(record)]));
}

/** Reads a record. An invalid record becomes an expired record. */
function readRecord(record: unknown): UploadRecord {
  const { id, at, until } = (isRecord(record) ? record : {}) as Record<string, unknown>;
  return isUploadId(id) && Number.isFinite(at) && Number.isFinite(until)
    ? { id, at: at as number, until: until as number }
    : { id: "", at: 0, until: 0 };
}

/** Lists the removals of the expired records, and of the oldest records beyond the limit. */
function listOutdated(records: Iterable<readonly [string, UploadRecord]>): [string, undefined][] {
  const newestFirst = [...records].sort(([, a], [, b]) => b.at - a.at);
  const now = Date.now();
  return newestFirst
    .filter(([, { until }], index) => until <= now || index >= MAX_UPLOADS - 1)
    .map(([key]) => [key, undefined]);
}
