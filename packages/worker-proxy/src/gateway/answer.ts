import { Refusal } from "../refusal.js";
import { checkedType, passedHeadersOf, STALL_MS } from "./call.js";
import type { Passing, Upstream } from "./json-answer.js";
import { pump } from "./pump.js";

/**
 * What the client gets of a success.
 *
 * @throws {Refusal} 502 for what is no JSON and no event stream, or breaks off
 */
export async function passOn<Env>(upstream: Upstream, passing: Passing<Env>): Promise<Response> {
  const { response, call } = upstream;
  const { settings, setup, route, report } = passing;
  const { status } = response;
  const sent = headersOf(response, passing);
  if (settings.extensions.length > 0) {
    const { extensionHeaders } = await import("./extension.js");
    Object.assign(sent, extensionHeaders(settings.extensions, response, route.name, setup.guarded));
  }
  if (status === 204 && route.extension) {
    call.close();
    report.end(status);
    return new Response(null, { status, headers: sent });
  }
  const { type, body } = checkedType(response, route.name === "chat" || route.extension !== undefined);
  sent["content-type"] = type;
  if (type === "application/json") {
    const { jsonOf } = await call.wait(() => import("./json-answer.js"), "upstream_cut");
    const bytes = await jsonOf(upstream, passing);
    call.close();
    report.known.bytes = bytes.byteLength;
    report.firstByte();
    report.end(status);
    return new Response(bytes, { status, headers: sent });
  }
  return new Response(await streamOf(upstream, body, passing), { status, headers: sent });
}

/** A stream is read where something needs it; elsewhere the platform passes it on. */
async function streamOf<Env>(
  { response, call, isExtensions }: Upstream,
  body: ReadableStream<Uint8Array>,
  { settings, setup, route, report, account, admitted }: Passing<Env>,
): Promise<ReadableStream<Uint8Array>> {
  const { meter, limits } = settings;
  const options = { keys: setup.guarded, onFirstByte: report.firstByte };
  const onEnd = (code?: string) => report.end(code?.startsWith("client_") ? 499 : response.status, code);
  // an extension's own stream has no content to wait for: a task may stay as it is for minutes
  const isRead = !route.extension && (meter !== undefined || limits.stallMs !== undefined || isExtensions);
  if (!isRead) return pump(body, call, { ...options, isChat: !route.extension, onEnd });
  const { relay } = await call.wait(() => import("./relay.js"), "upstream_cut");
  const n = admitted.body?.["n"];
  return relay(body, call, {
    ...options,
    choices: typeof n === "number" ? n : 1,
    stallMs: limits.stallMs ?? STALL_MS,
    onEnd(end) {
      if (end.usage) report.known.usage = end.usage;
      report.known.bytes = end.bytes;
      account?.close(end.outcome, end.usage);
      onEnd(end.code);
    },
  });
}

function headersOf<Env>(
  response: Response,
  { setup, admitted, report }: Passing<Env>,
): Record<string, string> {
  const passed = passedHeadersOf(response, setup.guarded);
  report.known.requestId = passed["x-request-id"] ?? report.known.requestId;
  return {
    ...passed,
    "x-request-id": report.known.requestId,
    "x-sluice-source": "upstream",
    "server-timing": report.timing(),
    ...(admitted.dropped?.length && { "x-sluice-dropped": admitted.dropped.join(", ") }),
  };
}
