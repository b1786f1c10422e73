import { type OwnBytes, openPieces } from "../base/bytes.js";
import { tryParse } from "../base/parse.js";
import { hasTooManyValues, isTooDeep } from "../checks/json-size.js";
import { Refusal } from "../refusals/refusal.js";
import type { Exchange, GatewayResponse } from "./exchange.js";
import { containsKey } from "./key.js";

/** Larger than any JSON of the spec's. */
const MAX_JSON_CHARACTERS = 32 * 1024 * 1024;

/** Reads a response of JSON, checks it and writes it again. @throws {Refusal} 502 for invalid JSON, and after a cut */
export async function readJSON<Env>(exchange: Exchange<Env>, response: Response): Promise<OwnBytes> {
  const { call, keys, settings, route, admitted, tenancy } = exchange;
  const text = await readText({ response, call }, MAX_JSON_CHARACTERS, settings.timeout.chunkMs);
  const json = parseJSON(text);
  settings.run?.settleJSON(exchange, json);
  if (containsKey(text, keys)) throw new Refusal("upstream_type");
  const { ids, group } = route;
  const marked = ids && (await group?.ids?.mark(json, ids, admitted, tenancy));
  await settings.run?.reportResponse(exchange, json, marked);
  // written anew, with each id marked for its user: the id of the request, or a new task's or asset's
  const written = JSON.stringify(
    json,
    marked && ((_, value) => (value === marked.id ? marked.signedId : value)),
  );
  return new TextEncoder().encode(written);
}

/**
 * Parses the JSON of a response, with at most a million values and 100 levels.
 *
 * @throws {Refusal} 502 for a page, a text, JSON that was cut, or too many values
 */
export function parseJSON(text: string): unknown {
  // 16 MB of small values would take the memory of all streams of an isolate
  const isTooMuch = hasTooManyValues(text, MAX_VALUES);
  const json = isTooMuch ? undefined : tryParse(text);
  if (isTooMuch || isTooDeep(json, MAX_LEVELS))
    throw new Refusal("upstream_type", { what: ": its JSON has too many values" });
  if (json !== undefined) return json;
  // a page is a refusal; JSON that was cut may be a response
  const outcome = /^\s*[^\s{["]/.test(text) ? "refused" : "unknown";
  throw new Refusal("upstream_type", { what: ": its JSON is broken", outcome });
}

/** More than any response of the spec has. */
export const MAX_VALUES = 1_000_000;
const MAX_LEVELS = 100;

/**
 * Reads the whole text of a response.
 *
 * @param maxLength the largest number of characters
 * @param idleMs the longest time for each piece, in milliseconds
 * @param endsAt the time at which the text must be complete, in Unix milliseconds
 * @throws {Refusal} 504 for a late text, 502 for a longer one
 */
export async function readText(
  { response, call }: GatewayResponse,
  maxLength: number,
  idleMs = 60_000,
  endsAt = Infinity,
): Promise<string> {
  const pieces = response.body && openPieces(response.body);
  const decoder = new TextDecoder();
  let text = "";
  try {
    while (pieces) {
      const ms = Math.min(idleMs, endsAt - Date.now());
      const piece = await call.wait(pieces.next, "upstream_cut", { ms, late: "upstream_idle" });
      if (!piece) break;
      text += decoder.decode(piece, { stream: true });
      if (text.length > maxLength) throw new Refusal("upstream_type");
    }
  } finally {
    pieces?.cancel();
  }
  return text;
}
