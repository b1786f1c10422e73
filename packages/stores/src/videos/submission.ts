import {
  type Client,
  ConnectionError,
  createVideoTask,
  isGatewayError,
  type VideoRequest,
} from "@sluice/core";
import {
  addUserPrefix,
  cancelWith,
  canReuseKey,
  createFingerprint,
  createRandomId,
  toError,
} from "@sluice/core/internal";
import type { StoreRequestOptions } from "../request-options.js";
import { isLocked, shareLock, withLock } from "../tabs/locks.js";
import type { VideoTaskEntry } from "./state.js";

/** Options of one submission. */
export interface SubmissionOptions extends StoreRequestOptions {
  readonly label?: string | undefined;
  /** Ends the submission until the gateway may have it. */
  readonly unlessSent: AbortSignal;
}

/** Entries of a ledger. `put` and `drop` resolve when the storage has the change, or has failed. */
interface EntryKeeper {
  readonly put: (entry: VideoTaskEntry) => Promise<void>;
  readonly drop: (key: string) => Promise<void>;
  /** Returns all entries, the newest first. */
  readonly newest: () => readonly VideoTaskEntry[];
}

/** Milliseconds in which the other tabs get the entry of a submission that has ended. */
const NEWS_MS = 1000;

/** Name of the lock that a tab holds while it submits. */
const submissionLock = (client: Client, key: string) => addUserPrefix(client, `sluice/submission/${key}`);

/**
 * Creates a task from a checked request. Its entry is stored before the request is sent. The same request as that of an
 * entry whose end is not known, or whose tab was closed, continues that entry, with its key.
 *
 * @throws the errors of {@link createVideoTask}
 */
export async function submitVideoTask(
  client: Client,
  request: VideoRequest,
  { label, unlessSent, ...options }: SubmissionOptions,
  { put, drop, newest }: EntryKeeper,
): Promise<VideoTaskEntry> {
  const fingerprint = client.idempotencyKeys ? createFingerprint(request) : undefined;
  const repeated = fingerprint === undefined ? undefined : await leftOpen(client, newest, fingerprint);
  const key = repeated?.key ?? createRandomId();
  const { model = "" } = request as Partial<VideoRequest>;
  const submittedAt = repeated?.submittedAt ?? Date.now();
  const entry = { key, model, submittedAt, ...(label !== undefined && { label }) };
  const open = { ...entry, ...(fingerprint !== undefined && { fingerprint }) };
  let settled: VideoTaskEntry = { ...open, state: "submitting" };
  const call = cancelWith(client, unlessSent);
  // held until the entry is settled: other tabs see by the lock that this tab still waits
  await withLock(client, submissionLock(client, key), unlessSent, async () => {
    await put(settled);
    try {
      const sent = { ...options, signal: call.signal, idempotencyKey: key, checks: false };
      const handle = await createVideoTask(call.client, request, sent);
      settled = { ...entry, state: "created", handle };
    } catch (error) {
      const known = isGatewayError(error) ? error : undefined;
      const billing = known?.billing ?? call.billing();
      // a task with a known id exists, even if something else failed
      if (known?.handle) settled = { ...entry, state: "created", handle: known.handle };
      else {
        const kept = canReuseKey(error, billing) ? open : entry;
        // a repetition that is refused, or did not arrive, says nothing about the first request
        if (billing === "maybe" || repeated)
          await put({ ...kept, state: "unconfirmed", error: toError(error) });
        else await drop(key);
        throw error;
      }
    } finally {
      call.end();
    }
    await put(settled);
  });
  return settled;
}

/** Finds the newest entry of the same request that has no end: an unconfirmed one, or one whose tab is gone. */
async function leftOpen(
  client: Client,
  newest: () => readonly VideoTaskEntry[],
  fingerprint: string,
): Promise<VideoTaskEntry | undefined> {
  const isSame = (entry: VideoTaskEntry) => entry.fingerprint === fingerprint;
  for (const { key, state } of newest().filter(isSame)) {
    if (state !== "unconfirmed") {
      if ((await isLocked(client, submissionLock(client, key))) !== false) continue;
      // its tab is gone, or has settled it just now
      await client.clock.sleep(NEWS_MS);
    }
    const entry = newest().find((each) => each.key === key);
    if (entry && isSame(entry)) return entry;
  }
  return undefined;
}

/** Marks a submission whose tab was closed as `unconfirmed`: the gateway may have received it. */
export async function afterReload(client: Client, entry: VideoTaskEntry): Promise<VideoTaskEntry> {
  if (await isLocked(client, submissionLock(client, entry.key))) return entry;
  return { ...entry, state: "unconfirmed", error: new ConnectionError(LEFT, "maybe") };
}

/** Waits until the tab of a submission has settled it or was closed, and marks it as {@link afterReload} does. */
export async function afterSubmission(client: Client, entry: VideoTaskEntry): Promise<VideoTaskEntry> {
  const name = submissionLock(client, entry.key);
  // tabs that can't see each other's locks can't know
  if ((await isLocked(client, name)) === undefined) return entry;
  await shareLock(client, name, Promise.resolve());
  await client.clock.sleep(NEWS_MS);
  return afterReload(client, entry);
}

const LEFT =
  "the page was left before the gateway answered: the task may exist and be billed; check your account";
