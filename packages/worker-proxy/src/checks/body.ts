import { collectBytes, openPieces, READ_BYTES } from "../base/bytes.js";
import { waitAtMost } from "../base/time.js";
import { Refusal, refuseSetup } from "../refusals/refusal.js";
import { findExcess } from "./json-size.js";

/** More than any request of the spec has; a JSON Schema of a tool included. */
const MOST = { values: 200_000, depth: 64 };

/**
 * Reads the body of a POST as a JSON object. Another method has no body, unless `takesBody` is true. Serialize the object
 * again before it leaves: a duplicate key, a comment or a byte order mark could be read in two ways.
 *
 * @throws {Refusal} 408 for a late body, 413 for a large one, 415 for another type than JSON, 400 for anything else
 * @example
 * ```ts
 * const readNote = (request: Request) => readBody(request, { maxBytes: 65_536, ms: 30_000 });
 * ```
 */
export async function readBody(
  request: Request,
  { maxBytes, ms }: { readonly maxBytes: number; readonly ms: number },
  takesBody = request.method === "POST",
): Promise<Record<string, unknown> | undefined> {
  const { body, headers } = request;
  if (!takesBody) return refuseBody(request);
  const type = headers.get("content-type") ?? "";
  // a type that pages may send without a preflight would get around CORS
  if (!/^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i.test(type)) throw new Refusal("type_not_json");
  if (headers.has("content-encoding")) throw new Refusal("unsupported_encoding");
  const length = Number(headers.get("content-length")) || 0;
  if (length > maxBytes) throw new Refusal("body_too_large", { what: maxBytes });
  if (request.bodyUsed) throw refuseSetup("authenticate: must leave the body unread");
  if (!body) throw new Refusal("no_object");
  const pieces = length > READ_BYTES || length === 0 ? openPieces(body, length || undefined) : undefined;
  try {
    // the platform's own read of what comes in one piece takes a third of the CPU, and can't be stopped
    const reading = pieces ? readAll(pieces, length, maxBytes) : request.arrayBuffer().then(toBytes);
    const bytes = await waitAtMost(ms, reading);
    if (bytes) return parsed(bytes);
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal("no_object");
  } finally {
    pieces?.cancel();
  }
  throw new Refusal("body_timeout");
}

const toBytes = (buffer: ArrayBuffer) => new Uint8Array(buffer);

async function readAll({ next }: ReturnType<typeof openPieces>, length: number, most: number) {
  const bytes = collectBytes(length);
  for (let piece = await next(); piece; piece = await next()) {
    if (bytes.size + piece.byteLength > most) throw new Refusal("body_too_large", { what: most });
    bytes.add(piece);
  }
  return bytes.view();
}

function parsed(bytes: Uint8Array): Record<string, unknown> {
  let json: unknown;
  try {
    const text = utf8.decode(bytes);
    checkSize(text);
    json = JSON.parse(text);
  } catch (error) {
    if (error instanceof Refusal) throw error;
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw new Refusal("no_object");
  return json as Record<string, unknown>;
}

/** @throws {Refusal} 400 for more values, or deeper nesting, than the gateway's requests have */
function checkSize(text: string): void {
  const passed = findExcess(text, MOST);
  if (passed === "depth") throw new Refusal("too_much", { what: `is nested deeper than ${MOST.depth}` });
  if (passed) throw new Refusal("too_much", { what: `has more than ${MOST.values} values` });
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
