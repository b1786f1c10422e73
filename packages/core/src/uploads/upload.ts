import { openSpan, unlessAborted } from "../base/clock.js";
import type { Client } from "../client.js";
import {
  APIError,
  ConnectionError,
  isGatewayError,
  ResponseError,
  TimeoutError,
  ValidationError,
} from "../errors.js";
import type { MediaUse } from "../media/limits.js";
import { excerpt, isRecord, parseJSON } from "../transport/error-response.js";
import { errorOf, isTransient, withRoute } from "../transport/failure.js";
import { type HeadersInput, readHeaders } from "../transport/headers.js";
import { closeExchange, type Exchange, emitStep, openExchange } from "../transport/send.js";

/** Progress of an upload. */
export interface UploadProgress {
  /** Bytes that are stored. They grow by parts of 8 MiB. */
  readonly loadedBytes: number;
  /** Size of the file in bytes. */
  readonly totalBytes: number;
}

/** Options of {@link uploadMedia}. */
export interface UploadOptions {
  /** Aborts the upload. A later upload of the same file goes on where this one stood. */
  readonly signal?: AbortSignal | undefined;
  /** Called at the start, after each part, and the last time with `loadedBytes === totalBytes`. */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Checks the file with `checkMedia` for this use, before anything is sent. @default no check */
  readonly use?: MediaUse | undefined;
  /** Headers added to the client's own. */
  readonly headers?: HeadersInput | undefined;
}

/** A stored file. */
export interface UploadedMedia {
  /** Id of the file, for its owner. */
  readonly id: string;
  /** Public address of the file. It works for everyone who has it, until `expiresAt`. */
  readonly url: string;
  /** End of the address; Unix milliseconds. */
  readonly expiresAt: number;
  /** MIME type that the file's first bytes show. */
  readonly type?: string | undefined;
}

/** State of an upload at the proxy. */
interface Progress extends Partial<UploadedMedia> {
  readonly id: string;
  readonly offset: number;
}

const PATH = "/v1/uploads";
/** Size of each part but the last: the proxy takes no other. */
const PART_BYTES = 8_388_608;
/** Time for one part, in milliseconds: at 0.25 Mbit/s a part takes 270 s. */
const PART_MS = 600_000;
const LOST =
  "the connection failed while the file was uploaded: nothing was made or billed; check the network and try again";
/** Attempts in a row without a stored part. */
const MOST_FAILURES = 5;
/** Time that an address has to work, so that the gateway can fetch it after it has waited. */
const VALID_MS = 3_600_000;

/** Uploads of this page, so that a file is stored once. */
const known = new WeakMap<Client, WeakMap<Blob, Progress>>();

/**
 * Stores a file at the proxy, and returns an address that the gateway can fetch. Needs a proxy with `mediaStore` of
 * `@sluice/worker-proxy/media`.
 *
 * A file of more than 8 MiB is sent in parts. After a failed connection the upload goes on where it stood, up to 5 times
 * without progress; `retry: { limit: 0 }` of the client switches that off. A file that this page has uploaded is not sent
 * again while its address works for an hour or more.
 *
 * @throws {ValidationError} if the file is empty, is no `Blob`, or breaks a limit of `use`
 * @throws {APIError} if the proxy refuses it: its type, its size, or the space of its user
 * @throws {ConnectionError} if the connection fails again and again
 * @throws {TimeoutError} if a part takes longer than 10 minutes
 * @throws the reason of the signal after an abort
 * @example
 * ```ts
 * const { url } = await uploadMedia(client, clip, {
 *   use: "reference_video",
 *   onProgress: ({ loadedBytes, totalBytes }) => show(loadedBytes / totalBytes),
 * });
 * ```
 */
export async function uploadMedia(
  client: Client,
  file: Blob,
  options: UploadOptions = {},
): Promise<UploadedMedia> {
  const { onProgress, use, signal } = options;
  await assertSendable(file, use, signal);
  const exchange = openExchange(client, { kind: "upload", path: PATH }, { signal });
  let media: UploadedMedia;
  try {
    const state = await store(client, file, options, exchange);
    media = mediaOf(state);
    onProgress?.({ loadedBytes: file.size, totalBytes: file.size });
  } catch (error) {
    withRoute(error, "its operator sets up `mediaStore` of @sluice/worker-proxy/media");
    closeExchange(client, exchange, {}, { error });
    throw error;
  }
  closeExchange(client, exchange, {});
  return media;
}

async function assertSendable(file: Blob, use: MediaUse | undefined, signal: AbortSignal | undefined) {
  const refused = (message: string) => new ValidationError([{ path: "", message, rule: "upload.file" }]);
  if (!(file instanceof Blob)) throw refused("give a Blob or a File");
  if (file.size === 0) throw refused("the file is empty");
  if (use === undefined) return;
  const { checkMedia } = await import("../media/check.js");
  const issues = await checkMedia(file, use, { signal });
  if (issues.length > 0) throw new ValidationError(issues);
}

/** Sends what the proxy does not have, until the file is whole. */
async function store(
  client: Client,
  file: Blob,
  options: UploadOptions,
  exchange: Exchange,
): Promise<Progress> {
  const files = known.get(client) ?? new WeakMap<Blob, Progress>();
  known.set(client, files);
  let state = files.get(file);
  let attempt = 0;
  let failures = 0;
  // an address that ends soon is renewed, and an upload that was left is looked up
  let isStale = state !== undefined && !isUsable(state);
  while (!state || isStale || state.url === undefined) {
    options.onProgress?.({ loadedBytes: state?.offset ?? 0, totalBytes: file.size });
    attempt += 1;
    try {
      const request = state && isStale ? lookup(state) : partOf(file, state);
      state = await sendOnce(client, request, options, exchange, attempt);
      isStale = false;
      failures = 0;
      files.set(file, state);
    } catch (error) {
      if (error instanceof APIError && error.status === 404 && state) {
        // its time is over, or it was deleted
        files.delete(file);
        state = undefined;
        isStale = false;
      } else {
        failures += 1;
        await waitToRepeat(client, exchange, error, attempt, failures);
        isStale = state !== undefined;
      }
    }
  }
  return state;
}

function isUsable({ url, expiresAt = 0 }: Progress): boolean {
  return url !== undefined && expiresAt - Date.now() > VALID_MS;
}

/** A request to the proxy. */
interface Part {
  readonly method: "GET" | "POST" | "PATCH";
  readonly path: string;
  readonly headers?: HeadersInput;
  readonly body?: Blob;
}

const lookup = ({ id }: Progress): Part => ({ method: "GET", path: `${PATH}/${id}` });

function partOf(file: Blob, state: Progress | undefined): Part {
  const from = state?.offset ?? 0;
  const body = file.slice(from, from + PART_BYTES);
  const type = { "content-type": "application/octet-stream" };
  if (state)
    return {
      method: "PATCH",
      path: `${PATH}/${state.id}`,
      headers: { ...type, "upload-offset": String(from) },
      body,
    };
  const isLong = file.size > PART_BYTES;
  return {
    method: "POST",
    path: PATH,
    headers: { ...type, ...(isLong && { "upload-length": String(file.size) }) },
    body,
  };
}

async function sendOnce(
  client: Client,
  { method, path, headers, body }: Part,
  { headers: extra }: UploadOptions,
  exchange: Exchange,
  attempt: number,
): Promise<Progress> {
  const late = () => new TimeoutError(`no answer after ${PART_MS} ms`, "headers");
  const span = openSpan(client.clock, exchange.signal, PART_MS, late);
  const startedAt = client.clock.now();
  try {
    const all = await unlessAborted(client.headers(), span.signal);
    for (const added of [readHeaders(extra), readHeaders(headers)])
      for (const [name, value] of added) all.set(name, value);
    const url = new URL(client.baseURL + path, globalThis.location?.href).href;
    const { credentials } = client;
    const request = new Request(url, {
      method,
      headers: all,
      // a copy in memory: some runtimes send a slice of a file without its length
      ...(body && { body: await body.arrayBuffer() }),
      signal: span.signal,
      redirect: "manual",
      ...(credentials && { credentials }),
    });
    emitStep(client, exchange, { type: "request", attempt });
    const response = await unlessAborted(client.fetch(request), span.signal);
    const ms = client.clock.now() - startedAt;
    emitStep(client, exchange, { type: "response", attempt, status: response.status, ms });
    if (!response.ok) throw await errorOf(response, client, span.signal);
    return progressOf(client.scrub(await unlessAborted(response.text(), span.signal)));
  } catch (error) {
    if (isGatewayError(error)) throw error;
    if (span.signal.aborted) throw span.signal.reason;
    throw new ConnectionError(LOST, "not-sent", { cause: error });
  } finally {
    span.end();
  }
}

function progressOf(text: string): Progress {
  const json = parseJSON(text);
  if (isRecord(json) && typeof json.id === "string" && typeof json.offset === "number")
    return json as unknown as Progress;
  throw new ResponseError("the answer to the upload has no id", { path: "id", body: excerpt(text) });
}

/** Waits before the next attempt; throws the error where another attempt is of no use. */
async function waitToRepeat(
  client: Client,
  exchange: Exchange,
  error: unknown,
  attempt: number,
  failures: number,
): Promise<void> {
  const { signal, retry } = exchange;
  // 409: the part is stored already; 400 `upload_cut`: it broke off on its way
  const isResumable = error instanceof APIError && (error.status === 409 || error.apiCode === "upload_cut");
  const isPassing =
    error instanceof APIError || error instanceof ConnectionError ? isTransient(error) : false;
  const askedMs = error instanceof APIError ? error.retryAfterMs : undefined;
  if (signal.aborted || retry.limit === 0 || failures > MOST_FAILURES || !(isResumable || isPassing))
    throw error;
  if ((askedMs ?? 0) > retry.maxDelayMs) throw error;
  const delayMs =
    askedMs ?? Math.min(retry.maxDelayMs, (0.5 + client.random() / 2) * 1000 * 2 ** (failures - 1));
  emitStep(client, exchange, { type: "retry", attempt, delayMs, error: error as Error });
  await unlessAborted(client.clock.sleep(delayMs, signal), signal);
}

function mediaOf({ id, url = "", expiresAt = 0, type }: Progress): UploadedMedia {
  return { id, url, expiresAt, type };
}
