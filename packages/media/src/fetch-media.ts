import {
  type Client,
  ConnectionError,
  isGatewayError,
  type RequestOptions,
  ResponseError,
  TimeoutError,
  ValidationError,
} from "@sluice/core";
import {
  callAtLimit,
  createBodyReader,
  type Exchange,
  openExchange,
  readBody,
  readRefusal,
  readSignedType,
  rejectOnAbort,
} from "@sluice/core/internal/media";
import { blobOfDataURI } from "./checks/data-uri.js";

/** Options of {@link fetchMedia}. */
export interface FetchMediaOptions {
  /** Aborts the download. The promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Largest size of the file, in bytes. No more is read of a larger one. @default 104_857_600 */
  readonly maxBytes?: number | undefined;
  /**
   * Limits of waiting: `firstChunkMs` (1 min by default), `chunkMs` (1 min) and `totalMs` (10 min). Each one replaces the
   * client's.
   */
  readonly timeout?: RequestOptions["timeout"];
}

const MAX_BYTES = 104_857_600;
const FIRST_CHUNK_MS = 60_000;
const TOTAL_MS = 600_000;

/**
 * Reads the file of a result: an image, a video, a last frame. Its server gets no header of the client, no key and no
 * cookie (wire 3.20). Redirects are followed. It is not repeated, and emits no events. The client gives its `fetch` and
 * its `timeout`; a `fetch` that reaches one server alone reaches no files of others.
 *
 * @param url http(s) address of the file, or its `data:` URL, for which nothing is sent
 * @returns the file, which `FormData`, `URL.createObjectURL` and the body of a request take as it is; `arrayBuffer()` has
 * its content. Its `type` follows from its first bytes, or else from its server
 * @throws {ValidationError} for another address
 * @throws {APIError} for a status of failure; 403, 404 and 410 say that the link has ended
 * @throws {ResponseError} for a file larger than `maxBytes`, an empty one, and a text in its place
 * @throws {ConnectionError} if it cannot be read, or breaks off. In a page, its server must allow other origins
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
  const exchange = openExchange(
    client,
    { kind: "archive", path: "", firstChunkMs: FIRST_CHUNK_MS },
    { signal, timeout: { totalMs: client.timeout.totalMs ?? TOTAL_MS, ...timeout } },
  );
  try {
    exchange.signal.throwIfAborted();
    const held = blobOfDataURI(String(url));
    // by hand: the policy of a page may forbid a request to it
    const response = held
      ? new Response(held)
      : await answerOf(client, exchange, requestFor(url, exchange.signal));
    if (!response.ok) throw await refusalOf(client, exchange, response);
    return await typed(new Blob(await piecesOf(client, exchange, response, maxBytes)), response);
  } catch (error) {
    if (isGatewayError(error)) throw error;
    if (exchange.signal.aborted) throw exchange.signal.reason;
    throw unreadable("the connection failed, or its server lets no page of another origin read it", error);
  } finally {
    exchange.end();
  }
}

function requestFor(url: string | URL, signal: AbortSignal): Request {
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
  // a Worker has no cookies, and refuses the fields
  const isPage = "credentials" in Request.prototype;
  return new Request(address, {
    signal,
    ...(isPage && { credentials: "omit", referrerPolicy: "no-referrer" }),
  });
}

async function answerOf(client: Client, { signal, abort, firstChunkMs }: Exchange, request: Request) {
  signal.throwIfAborted();
  const answered = new AbortController();
  callAtLimit(client.clock, firstChunkMs, answered.signal, () =>
    abort(new TimeoutError(`no answer after ${firstChunkMs} ms (timeout.firstChunkMs)`, "first-chunk")),
  );
  try {
    return await rejectOnAbort(client.fetch(request), signal);
  } finally {
    answered.abort(null);
  }
}

async function refusalOf(client: Client, { signal }: Exchange, response: Response): Promise<Error> {
  const error = await readRefusal(response, client, signal);
  const isGone = [403, 404, 410].includes(error.status);
  error.message = `HTTP ${error.status}: the file could not be read${isGone ? "; its link has ended" : ""}`;
  return error;
}

async function piecesOf(client: Client, exchange: Exchange, response: Response, maxBytes: number) {
  const declared = Number(response.headers.get("content-length"));
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const reader = readBody(client, exchange, createBodyReader(response), {
    use(bytes) {
      size += bytes?.length ?? 0;
      if (size > maxBytes) throw tooLarge(maxBytes);
      if (bytes) pieces.push(bytes as Uint8Array<ArrayBuffer>);
      return bytes !== undefined;
    },
    lose(error): boolean {
      throw error;
    },
  });
  try {
    if (declared > maxBytes) throw tooLarge(maxBytes);
    while (await reader.read());
    if (size < declared) throw unreadable(`it broke off after ${size} of ${declared} bytes`);
    return pieces;
  } finally {
    reader.cancel();
  }
}

/** Gives a file the type of its first bytes. A text is no file of a result: a proxy or a hotel has answered instead. */
async function typed(file: Blob, { headers }: Response): Promise<Blob> {
  if (file.size === 0) throw new ResponseError("the file is empty", { path: "", body: "" });
  const named = (headers.get("content-type") ?? "").replace(/;.*/, "").trim().toLowerCase();
  const type = (await readSignedType(file)) ?? named;
  if (/^text\/|^application\/(json|xml)$/.test(type))
    throw new ResponseError(`the file is of type ${type}, and no media`, {
      path: "",
      body: await file.slice(0, 8192).text(),
    });
  return file.slice(0, file.size, type || "application/octet-stream");
}

function tooLarge(maxBytes: number): ResponseError {
  return new ResponseError(`the file is larger than ${maxBytes} bytes (maxBytes)`, { path: "", body: "" });
}

/** Nothing was asked of the gateway: reading again is safe. */
function unreadable(reason: string, cause?: unknown): ConnectionError {
  return new ConnectionError(`the file could not be read: ${reason}`, "none", { cause });
}
