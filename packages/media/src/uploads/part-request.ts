import {
  type Client,
  ConfigurationError,
  ConnectionError,
  isGatewayError,
  type RequestOptions,
  TimeoutError,
} from "@sluice/core";
import {
  createRequest,
  describeThrown,
  type openCall,
  openSpan,
  readRefusal,
  rejectOnAbort,
  toConnectionError,
} from "@sluice/core/extend";
import { readBytes } from "@sluice/core/files";
import { parseUpload, type UploadAtProxy } from "./upload-at-proxy.js";

export const PATH = "/v1/uploads";
/** Size of each part but the last. The proxy accepts no other size. */
export let PART_BYTES = 8_388_608;

/** Sets the size of a part. Only tests call this: parts of 8 MiB make them slow. */
export function setPartBytes(bytes: number): void {
  PART_BYTES = bytes;
}

/** Time for one part, in milliseconds: at 0.25 Mbit/s a part takes 270 s. */
const PART_MS = 600_000;
const LOST =
  "the connection failed while the file was uploaded: nothing was made or billed; check the network and try again";

/** One request of an upload. */
export interface UploadRequest {
  /** `begin`: the first part. `part`: a later part. `look-up`: fetches the offset. */
  readonly phase: "begin" | "part" | "look-up";
  /** Id of the upload. Absent until the proxy sends one. */
  readonly id?: string | undefined;
  /** First byte of the part. */
  readonly from: number;
  /** Byte after the part. Equal to `from` for an empty part. */
  readonly to: number;
}

/** State that all requests of an upload share. */
export interface UploadContext {
  readonly client: Client;
  readonly file: Blob;
  readonly call: ReturnType<typeof openCall>;
  readonly headers: RequestOptions["headers"];
}

/**
 * Sends one request of an upload, and reads the response.
 *
 * @throws {ConfigurationError} | {ValidationError} before it is sent: headers that reject, a file that can't be read
 * @throws {APIError} | {ConnectionError} | {TimeoutError} | {ResponseError} after that
 */
export async function sendPart(
  context: UploadContext,
  part: UploadRequest,
  attempt: number,
): Promise<UploadAtProxy> {
  const { client, call, file } = context;
  const createTimeout = () => new TimeoutError(`no response after ${PART_MS} ms`, "first-chunk");
  const span = openSpan(client.clock, call.signal, PART_MS, createTimeout);
  try {
    const request = await createPartRequest(context, part, span.signal);
    const response = await fetchResponse(context, request, span.signal, attempt);
    if (!response.ok) throw await readRefusal(response, client, span.signal);
    return parseUpload(client.scrub(await readText(call.read(response, span))), file.size);
  } catch (error) {
    if (call.signal.aborted) throw call.signal.reason;
    if (isGatewayError(error)) throw error;
    throw span.signal.aborted ? span.signal.reason : createConnectionError(error);
  } finally {
    span.end();
  }
}

/** Creates a request. Every error is thrown before the request is sent, and says so. */
async function createPartRequest(
  { client, call, file, headers }: UploadContext,
  { phase, id, from, to }: UploadRequest,
  signal: AbortSignal,
): Promise<Request> {
  try {
    const hasBody = phase !== "look-up";
    const init = {
      method: METHODS[phase],
      ...(headers && { headers }),
      // a copy in memory: some runtimes send a slice of a file without its length
      ...(hasBody && { body: await rejectOnAbort(readBytes(file, from, to, signal), signal) }),
      signal,
    };
    const path = id === undefined ? PATH : `${PATH}/${id}`;
    const request = await rejectOnAbort(createRequest(client, path, init, call), signal);
    if (hasBody) request.headers.set("content-type", "application/octet-stream");
    if (phase === "part") request.headers.set("upload-offset", String(from));
    if (phase === "begin" && to < file.size) request.headers.set("upload-length", String(file.size));
    return request;
  } catch (cause) {
    if (signal.aborted || isGatewayError(cause)) throw cause;
    const message = describeThrown(cause);
    throw new ConfigurationError(`the upload could not be sent, and nothing was sent: ${message}`, { cause });
  }
}

const METHODS = { begin: "POST", part: "PATCH", "look-up": "GET" } as const;

/** Sends a request, and emits an event for it and for its response. */
async function fetchResponse(
  { client, call }: UploadContext,
  request: Request,
  signal: AbortSignal,
  attempt: number,
): Promise<Response> {
  const startedAt = client.clock.now();
  call.emit({ type: "request", attempt });
  const response = await rejectOnAbort(client.fetch(request), signal);
  const durationMs = client.clock.now() - startedAt;
  call.emit({ type: "response", attempt, status: response.status, durationMs });
  return response;
}

async function readText(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of pieces) text += decoder.decode(bytes, { stream: true });
  return text + decoder.decode();
}

/** Creates a connection error. Keeps the message if no connection was made. */
function createConnectionError(cause: unknown): ConnectionError {
  const known = toConnectionError(cause);
  return known.billing === "none" ? known : new ConnectionError(LOST, "none", { cause });
}
