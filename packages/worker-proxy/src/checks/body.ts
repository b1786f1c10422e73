import { openPieces, READ_BYTES } from "../base/bytes.js";
import { waitAtMost } from "../base/time.js";
import { Refusal, refuseSetup } from "../refusals/refusal.js";
import { hasTooManyValues, isTooDeep } from "./json-size.js";

/** Bounds above all requests of the spec, even with a JSON Schema of a tool. */
const MAX_VALUES = 200_000;
const MAX_LEVELS = 64;

/** The bounds of one body. */
interface BodyBounds {
  readonly maxBytes: number;
  /** The time for it to arrive, in milliseconds. */
  readonly ms: number;
  /** Called with a number of bytes before they are read. If it throws, they are not read. @default no count */
  readonly count?: ((bytes: number) => void) | undefined;
}

/**
 * Reads the body of a POST as a JSON object. Other methods have no body. Serialize the object again
 * before it leaves: a duplicate key, a comment or a byte order mark could be read in two ways.
 *
 * @throws {Refusal} 408 for a late body, 413 for a large one, 415 for another type than JSON, 400 for anything else
 * @example
 * ```ts
 * const readNote = (request: Request) => readBody(request, { maxBytes: 65_536, ms: 30_000 });
 * ```
 */
export async function readBody(
  request: Request,
  { maxBytes, ms, count = () => {} }: BodyBounds,
): Promise<Record<string, unknown> | undefined> {
  const { body, headers } = request;
  if (request.method !== "POST") return refuseBody(request);
  const type = headers.get("content-type") ?? "";
  // a type that pages may send without a preflight would get around CORS
  if (!/^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i.test(type)) throw new Refusal("type_not_json");
  if (headers.has("content-encoding")) throw new Refusal("unsupported_encoding");
  const length = Number(headers.get("content-length")) || 0;
  if (length > maxBytes) throw new Refusal("body_too_large", { what: maxBytes });
  if (request.bodyUsed) throw refuseSetup("authenticate: must leave the body unread");
  if (!body) throw new Refusal("no_object");
  count(length);
  const pieces = length > READ_BYTES || length === 0 ? openPieces(body, length || undefined) : undefined;
  try {
    // the platform's own read of a small body takes a third of the CPU, but can't be stopped
    const reading = pieces
      ? readAll(pieces, { maxBytes, count, counted: length })
      : request.arrayBuffer().then(decode);
    const text = await waitAtMost(ms, reading);
    if (text !== undefined) return parseObject(text);
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal("no_object");
  } finally {
    pieces?.cancel();
  }
  throw new Refusal("body_timeout");
}

const decode = (bytes: ArrayBuffer) => new TextDecoder("utf-8", STRICT).decode(bytes);
const STRICT = { fatal: true, ignoreBOM: true };

async function readAll(
  { next }: ReturnType<typeof openPieces>,
  { maxBytes, count, counted }: { maxBytes: number; count: (bytes: number) => void; counted: number },
): Promise<string> {
  const utf8 = new TextDecoder("utf-8", STRICT);
  let size = 0;
  let text = "";
  for (let piece = await next(); piece; piece = await next()) {
    size += piece.byteLength;
    if (size > maxBytes) throw new Refusal("body_too_large", { what: maxBytes });
    // a body without an announced size counts as it comes
    if (size > counted) {
      count(size - counted);
      counted = size;
    }
    text += utf8.decode(piece, { stream: true });
  }
  return text + utf8.decode();
}

/** @throws what `JSON.parse` throws, and {@link Refusal} 400 for anything but an object of a fair size */
function parseObject(text: string): Record<string, unknown> {
  if (hasTooManyValues(text, MAX_VALUES)) throw refuseSize(`${MAX_VALUES} values`);
  const json: unknown = JSON.parse(text);
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw new Refusal("no_object");
  if (isTooDeep(json, MAX_LEVELS)) throw refuseSize(`${MAX_LEVELS} levels`);
  return json as Record<string, unknown>;
}

function refuseSize(bound: string): Refusal {
  return new Refusal("too_much", { what: `has more than ${bound}` });
}

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
