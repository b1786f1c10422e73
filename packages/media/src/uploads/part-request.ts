import { type Client, ConnectionError, isGatewayError, TimeoutError } from "@sluice/core";
import { type openCall, openSpan, rejectOnAbort } from "@sluice/core/extend";
import { readBytes } from "@sluice/core/files";
import { parseUpload, type UploadAtProxy } from "./upload-at-proxy.js";

export const UPLOADS_PATH = "/v1/uploads";
/** Size of each part but the last. The proxy accepts no other size. */
export let PART_BYTES = 8_388_608;

/** Sets the size of a part. Only tests call this: parts of 8 MiB make them slow. */
export function setPartBytes(bytes: number): void {
  PART_BYTES = bytes;
}

/** Time for one part, in milliseconds: at 0.25 Mbit/s a part takes 270 s. */
const PART_MS = 600_000;
const CONNECTION_LOST =
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
}

/**
 * Sends one request of an upload, and reads the response.
 *
 * @throws {ConfigurationError} | {ValidationError} before it is sent: headers that reject, a file that can't be read
 * @throws {APIError} | {ConnectionError} | {TimeoutError} | {ResponseError} after that
 */
export async function sendPart(context: UploadContext, part: UploadRequest): Promise<UploadAtProxy> {
  const { client, call, file } = context;
  const createTimeout = () => new TimeoutError(`no response after ${PART_MS} ms`, "first-chunk");
  const span = openSpan(client.clock, call.signal, PART_MS, createTimeout);
  try {
    const path = part.id === undefined ? UPLOADS_PATH : `${UPLOADS_PATH}/${part.id}`;
    const response = await call.fetch(path, await createInit(file, part, span.signal));
    return parseUpload(client.scrub(await readText(call.read(response, span))), file.size);
  } catch (error) {
    if (call.signal.aborted) throw call.signal.reason;
    if (span.signal.aborted && !isGatewayError(error)) throw span.signal.reason;
    const isLost = !isGatewayError(error) || (error.name === "ConnectionError" && error.billing === "maybe");
    throw isLost ? new ConnectionError(CONNECTION_LOST, "none", { cause: error }) : error;
  } finally {
    span.end();
  }
}

/** Creates the method, the headers and the body of a request. */
async function createInit(
  file: Blob,
  { phase, from, to }: UploadRequest,
  signal: AbortSignal,
): Promise<RequestInit> {
  if (phase === "look-up") return { method: "GET", signal };
  const headers = new Headers({ "content-type": "application/octet-stream" });
  if (phase === "part") headers.set("upload-offset", String(from));
  else if (to < file.size) headers.set("upload-length", String(file.size));
  // a copy in memory: some runtimes send a slice of a file without its length
  const body = await rejectOnAbort(readBytes(file, from, to, signal), signal);
  return { method: phase === "begin" ? "POST" : "PATCH", headers, body, signal };
}

async function readText(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of pieces) text += decoder.decode(bytes, { stream: true });
  return text + decoder.decode();
}
