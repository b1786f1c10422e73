import { openBytes, openPieces } from "../gateway/bytes.js";
import type { Limits } from "../options.js";
import { misconfigured, Refusal } from "../refusal.js";

/** Deeper than any request of the spec; a JSON Schema of a tool included. */
const MAX_DEPTH = 64;
/** More values than any request has. A small value takes twenty times its bytes of memory. */
const MAX_VALUES = 200_000;

type BodyLimits = Required<Pick<Limits, "bodyBytes" | "bodyMs">>;

/**
 * Reads the body of a POST as a JSON object; another method has none. What leaves for the gateway is written anew from
 * it, so that a duplicate key, a comment or a byte order mark can't mean one thing here and another there.
 *
 * @throws {Refusal} 408, 413, 415 or 400
 */
export async function readBody(
  request: Request,
  limits: BodyLimits,
): Promise<Record<string, unknown> | undefined> {
  if (request.method !== "POST") return refuseBody(request);
  const type = request.headers.get("content-type") ?? "";
  // a type that pages may send without a preflight would get around CORS
  if (!/^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i.test(type)) throw new Refusal("type_not_json");
  if (request.headers.has("content-encoding")) throw new Refusal("unsupported_encoding");
  const bytes = await readBytes(request, limits);
  checkSize(bytes);
  return parse(bytes);
}

async function readBytes(
  request: Request,
  { bodyBytes, bodyMs }: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = () => new Refusal("body_too_large", { what: bodyBytes });
  const length = Number(request.headers.get("content-length") ?? 0);
  if (length > bodyBytes) throw tooLarge();
  if (request.bodyUsed) throw misconfigured("authenticate: must leave the body unread");
  if (!request.body) throw new Refusal("no_object");
  const pieces = openPieces(request.body, length || undefined);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    pieces.cancel();
  }, bodyMs);
  const bytes = openBytes(length);
  try {
    for (let piece = await pieces.next(); piece; piece = await pieces.next()) {
      if (bytes.size + piece.byteLength > bodyBytes) throw tooLarge();
      bytes.add(piece);
    }
  } catch (error) {
    if (!isLate) throw error instanceof Refusal ? error : new Refusal("no_object");
  } finally {
    clearTimeout(timer);
    pieces.cancel();
  }
  if (isLate) throw new Refusal("body_timeout");
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
 * Counts values and depth outside of strings before anything is built of them. Whether it is JSON, the parser says.
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

function parse(bytes: Uint8Array): Record<string, unknown> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {}
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw new Refusal("no_object");
  return json as Record<string, unknown>;
}

/**
 * Refuses a body of a GET, and a body of known size of a DELETE. Some hosts give a DELETE without a body an empty stream,
 * which is not read: nothing of a DELETE goes to the gateway.
 *
 * @throws {Refusal} 400
 */
function refuseBody({ method, body, headers }: Request): undefined {
  const hasStream = method === "GET" && (body || headers.has("transfer-encoding"));
  if (hasStream || Number(headers.get("content-length")) !== 0)
    throw new Refusal("body_with_method", { what: method });
}
