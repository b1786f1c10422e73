import { openBytes, openPieces, READ_BYTES } from "../gateway/bytes.js";
import { within } from "../gateway/call.js";
import type { Limits } from "../options.js";
import { misconfigured, Refusal } from "../refusal.js";

/** Deeper than any request of the spec; a JSON Schema of a tool included. */
const MAX_DEPTH = 64;
/** More values than any request has. A small value takes twenty times its bytes of memory. */
const MAX_VALUES = 200_000;

/**
 * Reads the body of a POST as a JSON object; another method has none. What leaves for the gateway is written anew from
 * it, so that a duplicate key, a comment or a byte order mark can't mean one thing here and another there.
 *
 * @throws {Refusal} 408, 413, 415 or 400
 */
export async function readBody(
  request: Request,
  { bodyBytes, bodyMs }: Required<Pick<Limits, "bodyBytes" | "bodyMs">>,
): Promise<Record<string, unknown> | undefined> {
  const { method, body, headers } = request;
  if (method !== "POST") return refuseBody(request);
  const type = headers.get("content-type") ?? "";
  // a type that pages may send without a preflight would get around CORS
  if (!/^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i.test(type)) throw new Refusal("type_not_json");
  if (headers.has("content-encoding")) throw new Refusal("unsupported_encoding");
  const length = Number(headers.get("content-length")) || 0;
  if (length > bodyBytes) throw new Refusal("body_too_large", { what: bodyBytes });
  if (request.bodyUsed) throw misconfigured("authenticate: must leave the body unread");
  if (!body) throw new Refusal("no_object");
  const pieces = length > READ_BYTES || length === 0 ? openPieces(body, length || undefined) : undefined;
  try {
    // the platform's own read of what comes in one piece takes a third of the CPU, and can't be stopped
    const reading = pieces ? readAll(pieces, length, bodyBytes) : request.arrayBuffer().then(bytesOf);
    const bytes = await within(bodyMs, reading);
    if (bytes) return parsed(bytes);
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal("no_object");
  } finally {
    pieces?.cancel();
  }
  throw new Refusal("body_timeout");
}

const bytesOf = (buffer: ArrayBuffer) => new Uint8Array(buffer);

async function readAll({ next }: ReturnType<typeof openPieces>, length: number, most: number) {
  const bytes = openBytes(length);
  for (let piece = await next(); piece; piece = await next()) {
    if (bytes.size + piece.byteLength > most) throw new Refusal("body_too_large", { what: most });
    bytes.add(piece);
  }
  return bytes.view();
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
// `{` and `}` are these with one more bit
const OPEN = 0x5b;
const CLOSE = 0x5d;
const BRACE = 0x20;
/** Bytes of a short text. */
const SHORT = 32;

/**
 * Counts values and depth outside of strings before anything is built of them; the parser finds what is no JSON.
 *
 * @throws {Refusal} 400
 */
function checkSize(bytes: Uint8Array): void {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === COMMA) values += 1;
    else if ((byte & ~BRACE) === OPEN) {
      values += 1;
      depth += 1;
      if (depth > MAX_DEPTH) throw new Refusal("too_deep", { what: MAX_DEPTH });
    } else if ((byte & ~BRACE) === CLOSE) depth -= 1;
    else continue;
    if (values > MAX_VALUES) throw new Refusal("too_many_values", { what: MAX_VALUES });
  }
}

/** The place of the quote that ends a string; the last byte where there is none. */
function endOfString(bytes: Uint8Array, start: number): number {
  let near = start + 1;
  // most texts are short, and the search that is built in is slow to begin
  while (near < start + SHORT && bytes[near] !== QUOTE && bytes[near] !== BACKSLASH) near += 1;
  if (bytes[near] === QUOTE) return near;
  for (let end = bytes.indexOf(QUOTE, near); end !== -1; end = bytes.indexOf(QUOTE, end + 1)) {
    let before = end - 1;
    while (bytes[before] === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return bytes.length - 1;
}

function parsed(bytes: Uint8Array): Record<string, unknown> {
  checkSize(bytes);
  let json: unknown;
  try {
    json = JSON.parse(utf8.decode(bytes));
  } catch {}
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw new Refusal("no_object");
  return json as Record<string, unknown>;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Refuses a body of a GET, and of a DELETE where its size is known: some hosts give a DELETE an empty stream.
 *
 * @throws {Refusal} 400
 */
function refuseBody({ method, body, headers }: Request): undefined {
  const hasStream = method === "GET" && (body || headers.has("transfer-encoding"));
  if (hasStream || Number(headers.get("content-length")) !== 0)
    throw new Refusal("body_with_method", { what: method });
}
