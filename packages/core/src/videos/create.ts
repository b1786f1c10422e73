import { randomId } from "../base/random-id.js";
import { fingerprintOf } from "../base/same.js";
import { scoped } from "../base/scope.js";
import { assertAccepted, type RequestFor, type UncheckedRequest, unchecked } from "../base/validate.js";
import type { Client } from "../client.js";
import { isLocked, shareLock, withLock } from "../tabs/locks.js";
import { endsUnlessSent } from "../transport/billing-outcome.js";
import { keepsKey } from "../transport/failure.js";
import { fieldOf, idIn, requestRecord } from "../transport/json-response.js";
import type { RequestOptions } from "../transport/send.js";
import { asError, ConnectionError, isGatewayError } from "../vocabulary/errors.js";
import { videoModelOf } from "../vocabulary/media-models.js";
import type { VideoTaskHandle } from "../vocabulary/video-task.js";
import { checkVideoRequest, type VideoRequest, type VideoRequests } from "./schema/request.js";
import type { VideoTaskEntry } from "./state.js";

/** Five minutes: references are part of the body, up to 20 MB each. */
const HEADERS_MS = 300_000;

/**
 * Creates a video task (spec, `POST /v1/video/generations`). Store the handle at once: it is plain JSON. The task
 * continues and is billed even if no page watches it. It cannot be cancelled.
 *
 * The request is repeated after a 429, which is not billed; after other failures only behind a proxy that offers `once`.
 * The error's `outcome` shows if it may be billed.
 *
 * @throws {ValidationError} when a rule of the model is broken; nothing was sent
 * @throws {APIError} when the gateway refuses
 * @throws {ConnectionError} when there was no answer, or it broke off
 * @throws {TimeoutError} phase `headers`, `chunk` or `total`
 * @throws {ResponseError} when the receipt has no id. Other fields of it that can't be read are warnings
 * @example
 * ```ts
 * const handle = await createVideoTask(client, {
 *   model: "beta3.0-video",
 *   input: { prompt: "A reef at dawn" },
 *   parameters: { resolution: "720P", duration: 5 },
 * });
 * localStorage.setItem("task", JSON.stringify(handle));
 * ```
 */
export async function createVideoTask<const Model extends string>(
  client: Client,
  request: RequestFor<Model, VideoRequests>,
  options: RequestOptions = {},
): Promise<VideoTaskHandle> {
  return requestRecord(
    client,
    {
      method: "post",
      kind: "video",
      path: "/v1/video/generations",
      subject: request,
      body() {
        assertAccepted(request, checkVideoRequest, client.warn, "createVideoTask(client, unchecked({ … }))");
        return request;
      },
      headersMs: HEADERS_MS,
      repeat: "refused-only",
      read(answer) {
        const id = idIn(answer, "id", "task_id");
        if (id === undefined) throw answer.misfit("id");
        const handle = handleOf(client, id, answer.json, (request as VideoRequest).model);
        const isWatched = answer.headers.get("x-sluice-offers")?.includes("video-watch");
        return isWatched ? { ...handle, watchedBy: "proxy" } : handle;
      },
    },
    options,
    "id",
    "task_id",
  );
}

function handleOf(
  client: Client,
  id: string,
  receipt: Record<string, unknown>,
  requestedModel: string,
): VideoTaskHandle {
  const seconds = fieldOf(client, "created_at", "number", receipt.created_at) ?? 0;
  const model = fieldOf(client, "model", "string", receipt.model) || requestedModel;
  const createdAt = seconds > 0 ? seconds * 1000 : Date.now();
  const row = videoModelOf(model);
  const hours = row && "retentionHours" in row ? row.retentionHours : undefined;
  // compared with the clock of this machine, which may be ahead of the gateway's: a new task has never expired
  const newestMs = Math.max(createdAt, Date.now());
  return { id, model, createdAt, ...(hours && { queryableUntil: newestMs + hours * 3_600_000 }) };
}

/** Options of one submission. */
export interface SubmissionOptions extends RequestOptions {
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
const submissionLock = (client: Client, key: string) => scoped(client, `sluice/submission/${key}`);

/**
 * Creates a task from a checked request. Its entry is stored before the request is sent. The same request as that of an
 * entry whose end is not known, or whose tab was closed, continues that entry, with its key.
 *
 * @throws the errors of {@link createVideoTask}
 */
export async function submitVideoTask(
  client: Client,
  request: VideoRequest | UncheckedRequest,
  { label, unlessSent, ...options }: SubmissionOptions,
  { put, drop, newest }: EntryKeeper,
): Promise<VideoTaskEntry> {
  const fingerprint = client.idempotencyKeys ? fingerprintOf(request) : undefined;
  const repeated = fingerprint === undefined ? undefined : await leftOpen(client, newest, fingerprint);
  const key = repeated?.key ?? randomId();
  const { model = "" } = request as Partial<VideoRequest>;
  const submittedAt = repeated?.submittedAt ?? Date.now();
  const entry = { key, model, submittedAt, ...(label !== undefined && { label }) };
  const open = { ...entry, ...(fingerprint !== undefined && { fingerprint }) };
  let settled: VideoTaskEntry = { ...open, state: "submitting" };
  const call = endsUnlessSent(client, unlessSent, options.signal);
  // held until the entry is settled: other tabs see by the lock that this tab still waits
  await withLock(client, submissionLock(client, key), unlessSent, async () => {
    await put(settled);
    try {
      const sent = { ...options, signal: call.signal, idempotencyKey: key };
      const handle = await createVideoTask(call.client, unchecked(request), sent);
      settled = { ...entry, state: "created", handle };
    } catch (error) {
      const known = isGatewayError(error) ? error : undefined;
      const outcome = known?.outcome ?? call.outcome();
      // a task with a known id exists, even if something else failed
      if (known?.handle) settled = { ...entry, state: "created", handle: known.handle };
      else {
        const kept = keepsKey(error, outcome) ? open : entry;
        // a repetition that is refused, or did not arrive, says nothing about the first request
        if (outcome === "unknown" || repeated)
          await put({ ...kept, state: "unconfirmed", error: asError(error) });
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
  return { ...entry, state: "unconfirmed", error: new ConnectionError(LEFT, "unknown") };
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
