import { Refusal } from "../refusals/refusal.js";
import type { AnswerRules, Exchange } from "./exchange.js";
import { holdsKey, passedHeadersOf } from "./key.js";
import { markOf, type PluginMark } from "./marked.js";
import { passStream } from "./pass-stream.js";
import { jsonOf } from "./read-json.js";

/**
 * Makes the response to the client from a success of the gateway, or of a plugin.
 *
 * @throws {Refusal} 502 for what is no JSON and no event stream, or breaks off
 */
export async function passOn<Env>(
  exchange: Exchange<Env>,
  response: Response,
  rules: AnswerRules<Env>,
  isPlugins: boolean,
): Promise<Response> {
  const { call, route, report, admitted } = exchange;
  const { known, end } = report;
  const { keys } = rules;
  const { status } = response;
  const mark = isPlugins ? markOf(response) : undefined;
  const passed = passedHeadersOf(response, keys);
  // from here on the event has the gateway's request id
  known.requestId = passed["x-request-id"] ?? known.requestId;
  const headers: Record<string, string> = {
    ...passed,
    "x-request-id": known.requestId,
    "x-sluice-source": "upstream",
    ...(admitted.dropped?.length && { "x-sluice-dropped": admitted.dropped.join(", ") }),
    ...(isPlugins && streamHeader(response, keys)),
  };
  if (status === 204 && route.plugin) {
    call.close();
    end(status);
    return new Response(null, { status, headers });
  }
  if (mark?.isOwn) {
    call.close(true);
    report.firstByte();
    end(status);
    headers["content-type"] = response.headers.get("content-type") ?? "application/json";
    return new Response(response.body, { status, headers });
  }
  const { type, body } = checkedType(response, route.name === "chat" || route.plugin !== undefined);
  headers["content-type"] = type;
  if (mark?.streamId) known.streamId = mark.streamId;
  if (mark?.isReplayed) known.replayed = true;
  if (type === "text/event-stream")
    return new Response(streamOf(exchange, body, rules, status, mark), { status, headers });
  const bytes = await jsonOf(exchange, response, rules);
  call.close(true);
  // the object that asked the gateway reports its count
  if (mark) delete known.usage;
  known.bytes = bytes.byteLength;
  report.firstByte();
  end(status);
  return new Response(bytes, { status, headers });
}

/** Passes a stream on: read event by event where that is needed and it is the gateway's, else by the platform. */
function streamOf<Env>(
  { call, route, report, account, admitted }: Exchange<Env>,
  body: ReadableStream<Uint8Array>,
  { keys, chunkMs, readStream }: AnswerRules<Env>,
  status: number,
  mark: PluginMark | undefined,
): ReadableStream<Uint8Array> {
  const { known, firstByte: onFirstByte } = report;
  const isGateways = !route.plugin && !mark;
  const onEnd = (code?: string) => report.end(code?.startsWith("client_") ? 499 : status, code);
  if (!isGateways || !readStream) {
    const ended = mark?.endCode ? endWith(mark.endCode, onEnd, admitted.context) : onEnd;
    return passStream(body, call, { keys, onFirstByte, isChat: isGateways, onEnd: ended });
  }
  const n = admitted.body?.["n"];
  const choices = typeof n === "number" ? n : 1;
  return readStream(body, call, {
    keys,
    choices,
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

/** Returns the id of a stream that a plugin stores, as a header of the answer. */
function streamHeader({ headers }: Response, keys: readonly string[]): Record<string, string> {
  const stream = headers.get("x-stream-id") ?? "";
  return /^[\w-]{1,128}$/.test(stream) && !holdsKey(stream, keys) ? { "x-stream-id": stream } : {};
}

/** Ends a report with the code of a stored stream's end. The stream passes unread, so that its object is asked for the code. */
function endWith(
  endCode: () => Promise<string | undefined>,
  onEnd: (code?: string) => void,
  context: Exchange<never>["admitted"]["context"],
): (code?: string) => void {
  let isOver = false;
  return (code) => {
    if (isOver) return;
    isOver = true;
    if (code !== undefined) return onEnd(code);
    const work = endCode().then(onEnd, () => onEnd());
    context?.waitUntil(work);
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
