import type { ProxyEvent } from "./api/events.js";
import type { PluginServer } from "./api/host.js";
import type { AdmittedRequest } from "./api/plugin.js";
import type { Incoming, Report } from "./refusals/report.js";

/** The receivers of events, and the log. */
export type Listeners<Env> = Pick<PluginServer<Env>, "plugins" | "log">;

/** Hands an event to all plugins, and logs what one throws or rejects with. */
export function notify<Env>(
  { plugins, log }: Listeners<Env>,
  event: ProxyEvent,
  { request, env, context }: Pick<AdmittedRequest<Env>, "env" | "context"> & { readonly request?: Request },
): void {
  for (const plugin of plugins) {
    // it may be async: on some hosts an unhandled rejection ends the process
    const callPlugin = async () => plugin.onEvent?.(event, env, context);
    callPlugin().catch((error) => {
      const logged = log("onEvent failed", error, { request, env });
      context?.waitUntil(logged);
    });
  }
}

/** An error of the gateway's at the begin of a stream. */
const ERROR = /^(?:event: ?error\b|error:|(?:data: ?)?\{(?:.*[{,])? ?"error": ?[{"])/m;

/** Makes an event of the record of a request, once the request has ended. */
export function notifyAtEnd<Env>(listeners: Listeners<Env>, report: Report, incoming: Incoming<Env>): void {
  if (!listeners.plugins.some(({ onEvent }) => onEvent)) return;
  const { known, startedAt } = report;
  report.onFirstByte = () => {
    known.firstByteMs ??= Date.now() - startedAt;
  };
  report.onEnd.push((status, given) => {
    const { head = "" } = report;
    const code = given ?? (ERROR.test(head) ? "upstream_error" : undefined);
    const refused = status === 499 ? "disconnected" : status < 500 ? "refused" : "error";
    const outcome = status >= 400 ? refused : code ? "truncated" : (known.outcome ?? "complete");
    const { method } = incoming.request;
    const durationMs = Date.now() - startedAt;
    const event = { ...known, type: "request", method, status, outcome, durationMs } as const;
    notify(listeners, { ...event, ...(code && { code }) }, incoming);
  });
}
