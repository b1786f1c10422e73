import { checkedType, passedHeadersOf } from "./call.js";
import { pump } from "./pump.js";
import type { Passing, Upstream } from "./read-answer.js";

/**
 * Makes the response to the client from a success of the gateway.
 *
 * @throws {Refusal} 502 for what is no JSON and no event stream, or breaks off
 */
export async function passOn<Env>(upstream: Upstream, passing: Passing<Env>): Promise<Response> {
  const { response, call, isExtensions } = upstream;
  const { settings, setup, route, report } = passing;
  const { meter, limits, extensions } = settings;
  const { status } = response;
  const sent = headersOf(response, passing);
  if (extensions.length > 0) {
    const { extensionHeaders } = await import("./additions.js");
    Object.assign(sent, extensionHeaders(extensions, response, route.name, setup.guarded));
  }
  if (status === 204 && route.extension) {
    call.close();
    report.end(status);
    return new Response(null, { status, headers: sent });
  }
  const { type, body } = checkedType(response, route.name === "chat" || route.extension !== undefined);
  sent["content-type"] = type;
  const onEnd = (code?: string) => report.end(code?.startsWith("client_") ? 499 : status, code);
  // an extension's own stream has no content to wait for: a task may stay as it is for minutes
  const isRead = !route.extension && (meter !== undefined || limits.stallMs !== undefined || isExtensions);
  if (type === "text/event-stream" && !isRead) {
    // elsewhere the platform passes it on
    const keys = setup.guarded;
    const options = { keys, onFirstByte: report.firstByte, isChat: !route.extension, onEnd };
    return new Response(pump(body, call, options), { status, headers: sent });
  }
  const { jsonOf, readStream } = await call.wait(() => import("./read-answer.js"), "upstream_cut");
  if (type !== "application/json")
    return new Response(readStream(upstream, body, passing, onEnd), { status, headers: sent });
  const bytes = await jsonOf(upstream, passing);
  call.close();
  report.known.bytes = bytes.byteLength;
  report.firstByte();
  report.end(status);
  return new Response(bytes, { status, headers: sent });
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
    ...(admitted.dropped?.length && { "x-sluice-dropped": admitted.dropped.join(", ") }),
  };
}
