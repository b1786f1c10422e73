import { Refusal } from "../refusals/refusal.js";
import type { Exchange } from "./exchange.js";
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
  isExtensions: boolean,
): Promise<Response> {
  const { call, settings, setup, admitted, route, report } = exchange;
  const { meter, limits, extensions } = settings;
  const { status } = response;
  const passed = passedHeadersOf(response, setup.guarded);
  report.known.requestId = passed["x-request-id"] ?? report.known.requestId;
  const headers: Record<string, string> = {
    ...passed,
    "x-request-id": report.known.requestId,
    "x-sluice-source": "upstream",
    ...(admitted.dropped?.length && { "x-sluice-dropped": admitted.dropped.join(", ") }),
  };
  if (extensions.length > 0 && route.name === "chat") {
    const { streamHeader } = await import("./additions.js");
    Object.assign(headers, streamHeader(response, setup.guarded));
  }
  if (status === 204 && route.extension) {
    call.close();
    report.end(status);
    return new Response(null, { status, headers });
  }
  const { type, body } = checkedType(response, route.name === "chat" || route.extension !== undefined);
  headers["content-type"] = type;
  const onEnd = (code?: string) => report.end(code?.startsWith("client_") ? 499 : status, code);
  // an extension's own stream has no content to wait for: a task may stay as it is for minutes
  const kept = isExtensions ? keptOf(response) : undefined;
  if (kept?.streamId) report.known.streamId = kept.streamId;
  if (kept?.isReplayed) report.known.replayed = true;
  const isForeign = isExtensions && !kept;
  const isRead =
    !route.extension && !kept && (meter !== undefined || limits.stallMs !== undefined || isForeign);
  if (type === "text/event-stream" && !isRead) {
    const isChat = !route.extension && !kept;
    const ended = kept?.endCode ? endWith(exchange, kept.endCode, onEnd) : onEnd;
    const options = { keys: setup.guarded, onFirstByte: report.firstByte, isChat, onEnd: ended };
    return new Response(pump(body, call, options), { status, headers });
  }
  const { jsonOf, readStream } = await call.wait(() => import("./read-answer.js"), "upstream_cut");
  if (type !== "application/json")
    return new Response(readStream(exchange, body, onEnd), { status, headers });
  const bytes = await jsonOf(exchange, response);
  call.close(true);
  // whoever has asked the gateway reports its count
  if (kept) delete report.known.usage;
  report.known.bytes = bytes.byteLength;
  report.firstByte();
  report.end(status);
  return new Response(bytes, { status, headers });
}

/** Ends a report with the code of a kept stream's end, which passes unread. */
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
