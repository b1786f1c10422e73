import { openBytes } from "../gateway/bytes.js";
import { invalid, misconfigured, Refusal } from "../refusal.js";
import type { Settings } from "../settings.js";
import { readForm } from "./form.js";
import type { Route } from "./path.js";

/** Deeper than any request of the spec; a JSON Schema of a tool included. */
const MAX_DEPTH = 64;

/**
 * Reads a request's body as a JSON object, or as a form where that is allowed. What leaves for the gateway is written
 * anew from it, so that a duplicate key, a comment or a byte order mark can't mean one thing here and another there.
 *
 * @throws {Refusal} 408, 413, 415 or 400
 */
export async function readBody(
  request: Request,
  { fields, takesForms }: Route,
  { limits, multipart }: Settings,
): Promise<Record<string, unknown>> {
  const type = request.headers.get("content-type") ?? "";
  const isForm = multipart && takesForms && /^multipart\/form-data\s*;/i.test(type);
  // a type that pages may send without a preflight would get around CORS
  if (!isForm && !/^application\/json\s*(?:;\s*charset=utf-8\s*)?$/i.test(type))
    throw new Refusal(415, "unsupported_media_type", "send the request as content-type: application/json");
  if (request.headers.has("content-encoding"))
    throw new Refusal(415, "unsupported_encoding", "send the body without a content-encoding");
  const bytes = await readBytes(request, limits);
  if (isForm) return await readForm(bytes, type, fields);
  const json = parse(bytes);
  for (const key of Object.keys(json))
    if (fields && !fields.test(key)) throw invalid("spell each field as the gateway does", key);
  checkValues(json);
  return json;
}

async function readBytes(
  request: Request,
  { bodyBytes, bodyMs }: Settings["limits"],
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = new Refusal(413, "body_too_large", `the body is larger than ${bodyBytes} bytes`);
  if (Number(request.headers.get("content-length") ?? 0) > bodyBytes) throw tooLarge;
  if (request.bodyUsed) throw misconfigured("authenticate: must leave the body unread");
  const reader = request.body?.getReader();
  if (!reader) throw invalid();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    reader.cancel().catch(() => {});
  }, bodyMs);
  const bytes = openBytes();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      if (bytes.size + piece.value.byteLength > bodyBytes) throw tooLarge;
      bytes.add(piece.value);
    }
  } catch (error) {
    if (!isLate) throw error instanceof Refusal ? error : invalid();
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
  if (isLate) throw new Refusal(408, "body_timeout", "the body took too long to arrive; send it again");
  return bytes.take();
}

function parse(bytes: Uint8Array): Record<string, unknown> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {}
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw invalid();
  return json as Record<string, unknown>;
}

/** Walks without recursion: the depth that is refused must not be the depth that overflows. */
function checkValues(json: object): void {
  const open: [value: unknown, depth: number][] = [[json, 1]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [value, depth] = next;
    // 1e400 is read as Infinity, and would be written as null
    if (typeof value === "number" && !Number.isFinite(value)) throw invalid("a number is out of range");
    if (typeof value !== "object" || value === null) continue;
    if (depth > MAX_DEPTH) throw invalid(`the body is nested deeper than ${MAX_DEPTH}`);
    if (Object.hasOwn(value, "__proto__")) throw invalid('"__proto__" is not a field');
    for (const entry of Object.values(value)) open.push([entry, depth + 1]);
  }
}

/** @throws {Refusal} 400 for a GET with a body: what the gateway would make of one is unknown */
export function refuseBody({ body, headers }: Request): void {
  if (body || headers.has("transfer-encoding") || Number(headers.get("content-length")) !== 0)
    throw invalid("send no body with GET");
}
