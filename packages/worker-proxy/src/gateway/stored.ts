import type { StoredResponse } from "../api/plugin.js";
import { containsKey } from "./key.js";
import { passStream } from "./pass-stream.js";
import { checkType, type PassResponse, passJSON } from "./respond.js";

/** Creates the function that passes a stored response on. */
export function createStoredPass({
  streamId,
  isReplayed,
  endCode,
}: Omit<StoredResponse, "response">): PassResponse {
  return async (exchange, response, headers) => {
    const { report, admitted, route, keys } = exchange;
    const { known } = report;
    const { status } = response;
    if (streamId) known.streamId = streamId;
    if (isReplayed) known.isReplay = true;
    const id = response.headers.get("x-stream-id") ?? "";
    if (/^[\w-]{1,128}$/.test(id) && !containsKey(id, keys)) headers["x-stream-id"] = id;
    if (status === 204 && route.plugin) return passEmpty(exchange, response, headers);
    const { type, body } = checkType(response, true);
    headers["content-type"] = type;
    if (type !== "text/event-stream") {
      // the job that sent the request reports its usage
      const passed = await passJSON({ ...exchange, report: { ...report, end: () => {} } }, response, headers);
      delete known.usage;
      report.end(status);
      return passed;
    }
    let isOver = false;
    // the stream passes unread: its job knows the code
    const onEnd = (code?: string) => {
      if (isOver) return;
      isOver = true;
      const finish = (code?: string) => report.end(code?.startsWith("client_") ? 499 : status, code);
      if (code !== undefined || !endCode) return finish(code);
      const ended = endCode().then(finish, () => finish());
      admitted.context?.waitUntil(ended);
    };
    return new Response(passStream(exchange, body, { isChat: false, onEnd }), { status, headers });
  };
}

/** Passes a response without a body on. */
export const passEmpty: PassResponse = async ({ call, report }, { status }, headers) => {
  call.close();
  report.end(status);
  return new Response(null, { status, headers });
};
