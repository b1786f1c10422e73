import type { Route } from "../checks/path.js";
import { containsKey } from "./key.js";
import { passStream } from "./pass-stream.js";
import { checkType, type PassResponse, passJSON } from "./respond.js";

/** Details of a response that a plugin has requested, read, checked and paid for: it passes unread. */
export interface StoredMark {
  /** The id of the stream; absent for JSON. */
  readonly streamId?: string;
  /** True if it was stored already. */
  readonly isReplayed: boolean;
  /** Returns the `error.code` with which its stream has ended; undefined for a complete stream. */
  readonly endCode?: () => Promise<string | undefined>;
}

/**
 * Marks the response of a plugin that stores responses. The proxy passes it on, and neither reads nor counts it again.
 *
 * @example
 * ```ts
 * const response = markStored(Response.json({ id: "task-1" }), { isReplayed: true });
 * ```
 */
export function markStored(marked: Response, { streamId, isReplayed, endCode }: StoredMark): Response {
  passers.set(marked, async (exchange, response, headers) => {
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
  });
  return marked;
}

/** The functions that pass marked responses on. The responses of all others are checked as the gateway's. */
const passers = new WeakMap<Response, PassResponse>();

/** Returns the function that passes a response of a plugin on; undefined for a response to check as the gateway's. */
export function findPasser(response: Response, { plugin }: Route): PassResponse | undefined {
  return passers.get(response) ?? (response.status === 204 && plugin ? passEmpty : undefined);
}

/** Passes a response without a body on. */
const passEmpty: PassResponse = async ({ call, report }, { status }, headers) => {
  call.close();
  report.end(status);
  return new Response(null, { status, headers });
};
