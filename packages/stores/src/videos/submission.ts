import {
  type Client,
  ConnectionError,
  createVideoTask,
  isGatewayError,
  type VideoRequest,
} from "@sluice/core";
import { canReuseKey, createRandomId, hashToId, toError } from "@sluice/core/extend";
import { cancelWith } from "../base/billing.js";
import type { StoreRequestOptions } from "../base/request-options.js";
import { addUserPrefix } from "../base/user-prefix.js";
import { isLocked, shareLock, withLock } from "../tabs/locks.js";
import type { VideoTaskEntry } from "./state.js";

/** Options of one submission. */
export interface SubmissionOptions extends StoreRequestOptions {
  readonly label?: string | undefined;
  /** Aborts the submission, unless the gateway may have received it. */
  readonly unsentSignal: AbortSignal;
}

/** The list of a client's entries. */
interface EntryList {
  readonly listNewest: () => readonly VideoTaskEntry[];
  readonly put: (entry: VideoTaskEntry) => Promise<void>;
  readonly drop: (key: string) => Promise<void>;
}

/** Maximum time until other tabs receive the entry of an ended submission, in milliseconds. */
const PROPAGATION_MS = 1000;

/** Creates the name of the lock that a tab holds while it submits. */
const createLockName = (client: Client, key: string) => addUserPrefix(client, `sluice/submission/${key}`);

/**
 * Creates a task from a checked request. The entry is stored before the request is sent. If the
 * result of an earlier submission of the same request is unknown, this submission reuses the entry and its key.
 *
 * @throws the errors of {@link createVideoTask}
 */
export async function submitVideoTask(
  client: Client,
  request: VideoRequest,
  { label, unsentSignal, ...options }: SubmissionOptions,
  { put, drop, listNewest }: EntryList,
): Promise<VideoTaskEntry> {
  const fingerprint = client.idempotencyKeys ? hashToId(request) : undefined;
  const earlier =
    fingerprint === undefined ? undefined : await findOpenEntry(client, listNewest, fingerprint);
  const key = earlier?.key ?? createRandomId();
  const { model = "" } = request as Partial<VideoRequest>;
  const submittedAt = earlier?.submittedAt ?? Date.now();
  const entry = { key, model, submittedAt, ...(label !== undefined && { label }) };
  // `findOpenEntry` finds only entries with a fingerprint
  const findable = { ...entry, ...(fingerprint !== undefined && { fingerprint }) };
  let result: VideoTaskEntry = { ...findable, state: "submitting" };
  const call = cancelWith(client, unsentSignal);
  // held until the entry has its result, so that other tabs know that this tab still waits
  await withLock(client, createLockName(client, key), unsentSignal, async () => {
    await put(result);
    try {
      const sendOptions = { ...options, signal: call.signal, idempotencyKey: key, checks: false };
      const handle = await createVideoTask(call.client, request, sendOptions);
      result = { ...entry, state: "created", handle };
    } catch (error) {
      const gatewayError = isGatewayError(error) ? error : undefined;
      const billing = gatewayError?.billing ?? call.billing();
      // a task with an id exists, even if another step failed
      if (gatewayError?.handle) result = { ...entry, state: "created", handle: gatewayError.handle };
      else {
        const unconfirmed = canReuseKey(error, billing) ? findable : entry;
        // a rejected or unsent repetition says nothing about the first request
        if (billing === "maybe" || earlier)
          await put({ ...unconfirmed, state: "unconfirmed", error: toError(error) });
        else await drop(key);
        throw error;
      }
    } finally {
      call.end();
    }
    await put(result);
  });
  return result;
}

/** Finds the newest entry of the same request without a result: it is unconfirmed, or its tab was closed. */
async function findOpenEntry(
  client: Client,
  listNewest: () => readonly VideoTaskEntry[],
  fingerprint: string,
): Promise<VideoTaskEntry | undefined> {
  const isSame = (entry: VideoTaskEntry) => entry.fingerprint === fingerprint;
  for (const { key, state } of listNewest().filter(isSame)) {
    if (state !== "unconfirmed") {
      // undefined without Web Locks, where a closed tab can't be detected
      if ((await isLocked(client, createLockName(client, key))) !== false) continue;
      // its tab was closed, or has just written the result
      await client.clock.sleep(PROPAGATION_MS);
    }
    const entry = listNewest().find((newest) => newest.key === key);
    if (entry && isSame(entry)) return entry;
  }
  return undefined;
}

/** Marks a submission whose tab was closed as `unconfirmed`: the gateway may have received it. */
export async function markAfterReload(client: Client, entry: VideoTaskEntry): Promise<VideoTaskEntry> {
  if (await isLocked(client, createLockName(client, entry.key))) return entry;
  return { ...entry, state: "unconfirmed", error: new ConnectionError(PAGE_CLOSED, "maybe") };
}

/** Waits until the tab of a submission has written its result or was closed. Then works like {@link markAfterReload}. */
export async function markAfterSubmission(client: Client, entry: VideoTaskEntry): Promise<VideoTaskEntry> {
  const name = createLockName(client, entry.key);
  // without Web Locks, other tabs can't be detected
  if ((await isLocked(client, name)) === undefined) return entry;
  // the lock is free once the tab is done or closed
  await shareLock(client, name, Promise.resolve());
  await client.clock.sleep(PROPAGATION_MS);
  return markAfterReload(client, entry);
}

const PAGE_CLOSED =
  "the page was closed before the gateway responded: the task may exist and be billed; check your account";
