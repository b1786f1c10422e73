import type { Client, Clock, RecordStorage } from "@sluice/core";
import { reportStorageFailure } from "@sluice/core/internal";
import { readBytes } from "@sluice/core/internal/media";
import { storageOf, waitForStorage } from "@sluice/stores/internal";
import { isRecord } from "../checks/is-record.js";
import { PART_BYTES } from "./part-request.js";
import { isUploadId, type UploadAtProxy } from "./upload-at-proxy.js";

/* Loaded where an upload has a storage. */

/** Most uploads that are kept; the oldest are removed first. */
const MOST = 100;
/** Time for which an upload is kept where the proxy names no end, in milliseconds. */
const KEPT_MS = 86_400_000;

/** The record of an upload, by the identity of its file. */
interface UploadRecord {
  /** Id at the proxy. */
  readonly id: string;
  /** Time of the record; Unix milliseconds. */
  readonly at: number;
  /** End of the record; Unix milliseconds. */
  readonly until: number;
}

/** The part of a storage that knows one file. */
export interface KeptUpload {
  /** Upload of an earlier page; it is looked up, so that the proxy says how far it is. */
  readonly state: UploadAtProxy | undefined;
  /** Keeps the id of an upload; undefined removes it. Never throws, and nothing waits for it. */
  keep(state: UploadAtProxy | undefined): void;
}

/**
 * Finds the upload of an earlier page.
 *
 * @returns undefined for a `Blob` that is no `File`, and where the platform has no hashes: nothing tells two such files
 * apart
 * @throws {ValidationError} if the file can't be read; the reason of the signal
 */
export async function openKeptUpload(
  client: Client,
  given: RecordStorage,
  file: Blob,
  signal: AbortSignal,
): Promise<KeptUpload | undefined> {
  const key = await identityOf(file, signal);
  if (key === undefined) return undefined;
  const storage = storageOf(client, given);
  const collection = `uploads/${client.baseURL}`;
  const report = (error: unknown) => reportStorageFailure(client, error);
  const records = await readRecords(client.clock, storage, collection).catch(report);
  signal.throwIfAborted();
  const known = records?.get(key);
  let kept = known && known.until > Date.now() ? known.id : undefined;
  let writing = Promise.resolve();
  return { state: kept === undefined ? undefined : { id: kept, offset: 0 }, keep };

  function keep(state: UploadAtProxy | undefined): void {
    if (state?.id === kept && !state?.url) return;
    kept = state?.id;
    const now = Date.now();
    const record = state && { id: state.id, at: now, until: state.expiresAt ?? now + KEPT_MS };
    const changes = new Map<string, unknown>([...outdated(records ?? []), [key as string, record]]);
    const write = () => waitForStorage(client.clock, () => storage.write(collection, changes));
    writing = writing.then(write).catch(report);
  }
}

/** Hash of what tells a file from every other: its name, size, type and date, and its first and last part. */
async function identityOf(file: Blob, signal: AbortSignal): Promise<string | undefined> {
  const { subtle } = (globalThis.crypto ?? {}) as Partial<Crypto>;
  if (!subtle || !(typeof File === "function" && file instanceof File)) return undefined;
  const { name, size, type, lastModified } = file;
  const first = await readBytes(file, 0, PART_BYTES, signal);
  const last = await readBytes(file, Math.max(0, size - PART_BYTES), size, signal);
  const hashes = await Promise.all([first, last].map((part) => subtle.digest("SHA-256", part)));
  const facts = new TextEncoder().encode(JSON.stringify([name, size, type, lastModified]));
  const all = await new Blob([facts, ...hashes]).arrayBuffer();
  return hexOf(await subtle.digest("SHA-256", all));
}

function hexOf(bytes: ArrayBuffer): string {
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Reads the records that still mean something. A storage may hold any value. */
async function readRecords(
  clock: Clock,
  storage: RecordStorage,
  collection: string,
): Promise<Map<string, UploadRecord>> {
  const all = await waitForStorage(clock, () => storage.read(collection));
  return new Map([...all].map(([key, record]) => [key, recordIn(record)]));
}

/** Reads a record; one that means nothing has ended long ago. */
function recordIn(record: unknown): UploadRecord {
  const { id, at, until } = (isRecord(record) ? record : {}) as Record<string, unknown>;
  return isUploadId(id) && Number.isFinite(at) && Number.isFinite(until)
    ? { id, at: at as number, until: until as number }
    : { id: "", at: 0, until: 0 };
}

/** Returns the removal of the records that have ended, and of the oldest beyond the bound. */
function outdated(records: Iterable<readonly [string, UploadRecord]>): [string, undefined][] {
  const newestFirst = [...records].sort(([, a], [, b]) => b.at - a.at);
  const now = Date.now();
  return newestFirst
    .filter(([, { until }], index) => until <= now || index >= MOST - 1)
    .map(([key]) => [key, undefined]);
}
