import { Refusal } from "../refusals/refusal.js";
import type { Exchange, ResponseRules } from "./exchange.js";
import { selectHeaders } from "./key.js";
import { passStream } from "./pass-stream.js";
import { findPasser } from "./passers.js";
import { readJSON } from "./read-json.js";

/**
 * Creates the response to the client from a successful response of the gateway or of a plugin.
 *
 * @throws {Refusal} 502 for a response that is neither JSON nor an event stream, or breaks off
 */
export async function passResponse<Env>(
  exchange: Exchange<Env>,
  response: Response,
  rules: ResponseRules<Env>,
  isPlugins: boolean,
): Promise<Response> {
  const { call, route, report, admitted } = exchange;
  const { known, end } = report;
  const { status } = response;
  const passed = selectHeaders(response, rules.keys);
  // the event of this request now has the gateway's id
  known.requestId = passed["x-request-id"] ?? known.requestId;
  const headers: Record<string, string> = {
    ...passed,
    "x-request-id": known.requestId,
    "x-sluice-source": "upstream",
    ...(admitted.dropped?.length && { "x-sluice-dropped": admitted.dropped.join(", ") }),
  };
  const pass = isPlugins ? findPasser(response) : undefined;
  if (pass) return await pass(exchange as Exchange<never>, response, headers, rules as ResponseRules<never>);
  if (status === 204 && route.plugin) {
    call.close();
    end(status);
    return new Response(null, { status, headers });
  }
  const { type, body } = checkType(response, route.name === "chat" || route.plugin !== undefined);
  headers["content-type"] = type;
  if (type === "text/event-stream")
    return new Response(openStream(exchange, body, rules, status), { status, headers });
  return await passJSON(exchange, response, headers, rules);
}

/** Reads a JSON response, and forwards it. */
export async function passJSON<Env>(
  exchange: Exchange<Env>,
  response: Response,
  headers: Record<string, string>,
  rules: ResponseRules<Env>,
): Promise<Response> {
  const { call, report } = exchange;
  const { status } = response;
  const bytes = await readJSON(exchange, response, rules);
  call.close(true);
  report.known.bytes = bytes.byteLength;
  report.firstByte();
  report.end(status);
  return new Response(bytes, { status, headers });
}

/** Forwards a stream: event by event with `readStream`, otherwise as bytes. */
function openStream<Env>(
  { call, route, report, account, admitted }: Exchange<Env>,
  body: ReadableStream<Uint8Array>,
  { keys, chunkMs, readStream }: ResponseRules<Env>,
  status: number,
): ReadableStream<Uint8Array> {
  const { known, firstByte: onFirstByte } = report;
  const onEnd = (code?: string) => report.end(code?.startsWith("client_") ? 499 : status, code);
  if (route.plugin || !readStream)
    return passStream(body, call, { keys, onFirstByte, isChat: !route.plugin, onEnd });
  const n = admitted.body?.["n"];
  return readStream(body, call, {
    keys,
    choices: typeof n === "number" ? n : 1,
    stallMs: chunkMs,
    onFirstByte,
    onEnd({ usage, bytes, outcome, code, isConfirmed }) {
      if (usage) known.usage = usage;
      if (!isConfirmed) known.outcome = "unconfirmed";
      known.bytes = bytes;
      account?.close(outcome, usage);
      onEnd(code);
    },
  });
}

/**
 * Checks that a response is JSON, or an event stream if `canStream` is true.
 *
 * @throws {Refusal} 502 for any other type, and without a body
 * @example
 * ```ts
 * const { type, body } = checkType(await fetch("https://gateway.example.com/v1/models"), false);
 * ```
 */
export function checkType(
  { body, headers }: Response,
  canStream: boolean,
): { readonly body: ReadableStream<Uint8Array>; readonly type: string } {
  const [type = ""] = (headers.get("content-type") ?? "").toLowerCase().split(/\s*;/, 1);
  const isFit = type === "application/json" || (canStream && type === "text/event-stream");
  if (body && isFit) return { body, type };
  body?.cancel().catch(() => {});
  const what = ": no JSON and no event stream; the proxy's operator checks `baseURL`";
  throw new Refusal("upstream_type", { what, outcome: "refused" });
}
