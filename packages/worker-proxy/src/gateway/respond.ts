import { Refusal } from "../refusals/refusal.js";
import type { Exchange } from "./exchange.js";
import { selectHeaders } from "./key.js";
import { passStream } from "./pass-stream.js";
import { readJSON } from "./read-json.js";

/**
 * Creates the response to the client from a successful response of the gateway or of a plugin.
 *
 * @param pass passes a response of a plugin on in another way
 * @throws {Refusal} 502 for a response that is neither JSON nor an event stream, or breaks off
 */
export async function passResponse<Env>(
  exchange: Exchange<Env>,
  response: Response,
  pass?: PassResponse,
): Promise<Response> {
  const { route, report, keys, settings } = exchange;
  const { status } = response;
  const headers = selectHeaders(response, keys);
  // the event of this request now has the gateway's id
  report.known.requestId = headers["x-request-id"] ??= report.known.requestId;
  headers["x-sluice-source"] = "upstream";
  if (pass) return await pass(exchange as unknown as Exchange<never>, response, headers);
  const { type, body } = checkType(response, route.name === "chat" || route.plugin !== undefined);
  headers["content-type"] = type;
  if (type === "application/json") return await passJSON(exchange, response, headers);
  const onEnd = (code?: string) => report.end(code?.startsWith("client_") ? 499 : status, code);
  const readStream = route.plugin ? undefined : settings.run?.readStream;
  const stream =
    readStream?.(exchange, body, onEnd) ?? passStream(exchange, body, { isChat: !route.plugin, onEnd });
  return new Response(stream, { status, headers });
}

/** Reads a response of JSON, and passes it on. */
export async function passJSON<Env>(
  exchange: Exchange<Env>,
  response: Response,
  headers: Record<string, string>,
): Promise<Response> {
  const { call, report } = exchange;
  const { status } = response;
  const bytes = await readJSON(exchange, response);
  call.close(true);
  report.known.bytes = bytes.byteLength;
  report.onFirstByte?.();
  report.end(status);
  return new Response(bytes, { status, headers });
}

/**
 * Checks that a response is JSON, or an event stream if `canStream` is true.
 *
 * @throws {Refusal} 502 for any other type, and without a body
 */
export function checkType(
  { body, headers }: Response,
  canStream: boolean,
): { readonly body: ReadableStream<Uint8Array>; readonly type: string } {
  const [type = ""] = (headers.get("content-type") ?? "").toLowerCase().split(/\s*;/, 1);
  const isFit = type === "application/json" || (canStream && type === "text/event-stream");
  if (!body || !isFit) {
    body?.cancel().catch(() => {});
    const what = ": no JSON and no event stream; the proxy's operator checks `baseURL`";
    throw new Refusal("upstream_type", { what, outcome: "refused" });
  }
  return { body, type };
}

/** Passes the response of a plugin on unread. */
export type PassResponse = (
  exchange: Exchange<never>,
  response: Response,
  headers: Record<string, string>,
) => Promise<Response>;
