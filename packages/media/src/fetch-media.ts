import {
  type Client,
  ConnectionError,
  isGatewayError,
  type RequestOptions,
  ResponseError,
  TimeoutError,
  ValidationError,
} from "@sluice/core";
import { callAfter, openCall, rejectOnAbort } from "@sluice/core/extend";
import { readSignedType } from "@sluice/core/files";
import { parseDataURI } from "./checks/data-uri.js";

/** Options of {@link fetchMedia}. */
export interface FetchMediaOptions {
  /** Aborts the download. The promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum size of the file in bytes. The download of a larger file stops at the limit. @default 104_857_600 */
  readonly maxBytes?: number | undefined;
  /**
   * Time limits: `firstChunkMs` (1 min by default), `chunkMs` (1 min) and `totalMs` (10 min). Each limit replaces the
   * client's limit.
   */
  readonly timeout?: RequestOptions["timeout"];
}

type Call = ReturnType<typeof openCall>;

const MAX_BYTES = 104_857_600;
const FIRST_CHUNK_MS = 60_000;
const TOTAL_MS = 600_000;

/**
 * Downloads the file of a result: an image, a video, a last frame. The request does not send the client's headers, a
 * key or a cookie (wire 3.20). It follows redirects, is never repeated, and emits no events. It uses the client's `fetch`
 * and `timeout`; a `fetch` that reaches only one server can't download files from others.
 *
 * @param url http(s) URL of the file, or a `data:` URL, which sends no request
 * @returns the file, for `FormData`, `URL.createObjectURL` or the body of a request. Its `type` comes from its first
 * bytes, or else from its server
 * @throws {ValidationError} for any other URL
 * @throws {APIError} for an error status; 403, 404 and 410 mean that the link has expired
 * @throws {ResponseError} for a file larger than `maxBytes`, an empty file, or text in its place
 * @throws {ConnectionError} if the connection fails or breaks. In a page, the server must allow other origins
 * @throws {TimeoutError}
 * @example
 * ```ts
 * const { images } = await generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef" });
 * const files: Blob[] = [];
 * for (const { url } of images) if (url) files.push(await fetchMedia(client, url, { maxBytes: 20_000_000 }));
 * ```
 */
export async function fetchMedia(
  client: Client,
  url: string | URL,
  { signal, maxBytes = MAX_BYTES, timeout }: FetchMediaOptions = {},
): Promise<Blob> {
  const call = openCall(
    client,
    { kind: "archive", path: "", firstChunkMs: FIRST_CHUNK_MS },
    { signal, timeout: { totalMs: client.timeout.totalMs ?? TOTAL_MS, ...timeout } },
  );
  try {
    call.signal.throwIfAborted();
    const decoded = parseDataURI(String(url));
    // decoded without a request, because a page's policy may forbid requests to data URLs
    const response = decoded
      ? new Response(decoded)
      : await fetchResponse(client, call, createRequest(url, call.signal));
    if (!response.ok) throw await createRefusal(call, response);
    return await setType(new Blob(await readParts(call, response, maxBytes)), response);
  } catch (error) {
    if (isGatewayError(error)) throw error;
    if (call.signal.aborted) throw call.signal.reason;
    throw createUnreadable(
      "the connection failed, or its server lets no page of another origin read it",
      error,
    );
  } finally {
    call.end();
  }
}

function createRequest(url: string | URL, signal: AbortSignal): Request {
  const page = globalThis.location?.href;
  const address = URL.canParse(url, page) ? new URL(url, page) : undefined;
  if (!address || !/^https?:$/.test(address.protocol) || address.username || address.password)
    throw new ValidationError([
      {
        path: "url",
        message: "must be an http(s) address without a password, or a Base64 data: URL",
        rule: "media.url",
      },
    ]);
  // Workers reject these fields, and never send cookies
  const isPage = "credentials" in Request.prototype;
  return new Request(address, {
    signal,
    ...(isPage && { credentials: "omit", referrerPolicy: "no-referrer" }),
  });
}

async function fetchResponse(client: Client, { signal, abort, firstChunkMs }: Call, request: Request) {
  signal.throwIfAborted();
  const received = new AbortController();
  const abortRequest = () =>
    abort(new TimeoutError(`no response after ${firstChunkMs} ms (timeout.firstChunkMs)`, "first-chunk"));
  // one more task: when a frozen page resumes, its timer and the response are due together, and the response must win
  callAfter(client.clock, firstChunkMs, received.signal, () =>
    callAfter(client.clock, 0, received.signal, abortRequest),
  );
  try {
    return await rejectOnAbort(client.fetch(request), signal);
  } finally {
    received.abort(null);
  }
}

async function createRefusal(call: Call, response: Response): Promise<Error> {
  const error = await call.readRefusal(response);
  const isGone = [403, 404, 410].includes(error.status);
  error.message = `HTTP ${error.status}: the file could not be read${isGone ? "; its link has ended" : ""}`;
  return error;
}

async function readParts(call: Call, response: Response, maxBytes: number) {
  const declared = Number(response.headers.get("content-length"));
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  if (declared > maxBytes) {
    response.body?.cancel().catch(() => {});
    throw createTooLarge(maxBytes);
  }
  for await (const bytes of call.read(response)) {
    size += bytes.length;
    if (size > maxBytes) throw createTooLarge(maxBytes);
    chunks.push(bytes as Uint8Array<ArrayBuffer>);
  }
  if (size < declared) throw createUnreadable(`it broke off after ${size} of ${declared} bytes`);
  return chunks;
}

/** Sets the type from the file's first bytes. Text is never a result: a proxy or a captive portal sent it. */
async function setType(file: Blob, { headers }: Response): Promise<Blob> {
  if (file.size === 0) throw new ResponseError("the file is empty", { path: "", body: "" });
  const declaredType = (headers.get("content-type") ?? "").replace(/;.*/, "").trim().toLowerCase();
  const type = (await readSignedType(file)) ?? declaredType;
  if (/^text\/|^application\/(json|xml)$/.test(type))
    throw new ResponseError(`the file is of type ${type}, and no media`, {
      path: "",
      body: await file.slice(0, 8192).text(),
    });
  return file.slice(0, file.size, type || "application/octet-stream");
}

function createTooLarge(maxBytes: number): ResponseError {
  return new ResponseError(`the file is larger than ${maxBytes} bytes (maxBytes)`, { path: "", body: "" });
}

/** Creates an error whose billing is `none`: the gateway got no request, so a retry is safe. */
function createUnreadable(reason: string, cause?: unknown): ConnectionError {
  return new ConnectionError(`the file could not be read: ${reason}`, "none", { cause });
}
