import { Refusal } from "../refusals/refusal.js";
import type { AnswerRules, Exchange } from "./exchange.js";
import { keptOf } from "./kept.js";
import { passedHeadersOf } from "./passed-headers.js";
import { pump } from "./pump.js";

/**
 * Makes the response to the client from a success of the gateway, or of an extension.
 *
 * @throws {Refusal} 502 for what is no JSON and no event stream, or breaks off
 */
export async function passOn<Env>(
  exchange: Exchange<Env>,
  response: Response,
  rules: AnswerRules<Env>,
  isExtensions: boolean,
): Promise<Response> {
  const { call, route, report } = exchange;
  const { keys } = rules;
  const { status } = response;
  const headers = await headersOf(exchange, response, rules);
  if (status === 204 && route.extension) {
    call.close();
    report.end(status);
    return new Response(null, { status, headers });
  }
  const kept = isExtensions ? keptOf(response) : undefined;
  if (kept?.isOwn) {
    call.close(true);
    report.firstByte();
    report.end(status);
    headers["content-type"] = response.headers.get("content-type") ?? "application/json";
    return new Response(response.body, { status, headers });
  }
  const { type, body } = checkedType(response, route.name === "chat" || route.extension !== undefined);
  headers["content-type"] = type;
  const onEnd = (code?: string) => report.end(code?.startsWith("client_") ? 499 : status, code);
  // an extension's own stream has no content to wait for: a task may stay as it is for minutes
  if (kept?.streamId) report.known.streamId = kept.streamId;
  if (kept?.isReplayed) report.known.replayed = true;
  const isForeign = isExtensions && !kept;
  const isRead = !route.extension && !kept && (rules.readsStreams || isForeign);
  if (type === "text/event-stream" && !isRead) {
    const isChat = !route.extension && !kept;
    const ended = kept?.endCode ? endWith(exchange, kept.endCode, onEnd) : onEnd;
    const options = { keys, onFirstByte: report.firstByte, isChat, onEnd: ended };
    return new Response(pump(body, call, options), { status, headers });
  }
  const { jsonOf, readStream } = await call.wait(() => import("./read-answer.js"), "upstream_cut");
  if (type !== "application/json")
    return new Response(readStream(exchange, body, rules, onEnd), { status, headers });
  const bytes = await jsonOf(exchange, response, rules);
  call.close(true);
  // the object that asked the gateway reports its count
  if (kept) delete report.known.usage;
  report.known.bytes = bytes.byteLength;
  report.firstByte();
  report.end(status);
  return new Response(bytes, { status, headers });
}

/** Makes the headers of the answer, without its type. From here on the event has the gateway's request id. */
async function headersOf<Env>(
  { admitted, route, report }: Exchange<Env>,
  response: Response,
  { keys, extensions }: AnswerRules<Env>,
): Promise<Record<string, string>> {
  const passed = passedHeadersOf(response, keys);
  report.known.requestId = passed["x-request-id"] ?? report.known.requestId;
  const mayBeKept = extensions.length > 0 && route.name === "chat";
  const { streamHeader } = mayBeKept ? await import("./additions.js") : {};
  return {
    ...passed,
    "x-request-id": report.known.requestId,
    "x-sluice-source": "upstream",
    ...(admitted.dropped?.length && { "x-sluice-dropped": admitted.dropped.join(", ") }),
    ...streamHeader?.(response, keys),
  };
}

/**
 * Ends a report with the code of a kept stream's end. The stream passes unread, so that its object is asked for the
 * code.
 */
function endWith<Env>(
  { admitted }: Exchange<Env>,
  endCode: () => Promise<string | undefined>,
  onEnd: (code?: string) => void,
): (code?: string) => void {
  let isOver = false;
  return (code) => {
    if (isOver) return;
    isOver = true;
    if (code !== undefined) return onEnd(code);
    const work = endCode().then(onEnd, () => onEnd());
    admitted.context?.waitUntil(work);
  };
}

/** @throws {Refusal} 502 for an answer that is no JSON, and no event stream where there can be one */
export function checkedType(
  { body, headers }: Response,
  canStream: boolean,
): { readonly body: ReadableStream<Uint8Array>; readonly type: string } {
  const [type = ""] = (headers.get("content-type") ?? "").toLowerCase().split(/\s*;/, 1);
  const isFit = type === "application/json" || (canStream && type === "text/event-stream");
  if (body && isFit) return { body, type };
  body?.cancel().catch(() => {});
  throw new Refusal("upstream_no_json", { outcome: "refused" });
}
