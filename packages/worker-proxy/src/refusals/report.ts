import type { RequestEvent } from "../api/events.js";
import type { AdmittedRequest } from "../api/plugin.js";
import { type Listeners, logCause, notify } from "./log.js";

/** A request as it comes in. */
export type Incoming<Env> = Pick<AdmittedRequest<Env>, "request" | "env" | "context">;

/** The record of one request, which becomes its event. */
export type Report = ReturnType<typeof openReport>;

/** Opens the record of a request. Each check adds its facts. */
export function openReport<Env>(settings: Listeners<Env>, incoming: Incoming<Env>) {
  const { method, headers } = incoming.request;
  const traceparent = headers.get("traceparent");
  const startedAt = Date.now();
  let isOver = false;
  const known: { -readonly [Key in keyof RequestEvent]?: RequestEvent[Key] } & { requestId: string } = {
    requestId: crypto.randomUUID(),
    ...(isTraceparent(traceparent) && { traceparent }),
  };
  const report = {
    known,
    startedAt,
    /** Values beside the keys that the log must not show. */
    secrets: [] as string[],
    /** Called once, at the end of the request. */
    onEnd: () => {},
    /** Notes the time to the first byte of the response. Later calls change nothing. */
    firstByte(): void {
      known.firstByteMs ??= Date.now() - startedAt;
    },
    /** Logs an error of the operator's code on which the request does not depend. */
    logFailure(option: string, error: unknown): void {
      const logged = logCause(`${option} failed`, error, { ...incoming, log: settings.log });
      incoming.context?.waitUntil(logged);
    },
    /** Ends the report and notifies `onEvent`. Later calls change nothing. */
    end(status: number, code?: string): void {
      if (isOver) return;
      isOver = true;
      report.onEnd();
      if (settings.listeners.length === 0) return;
      const refused = status === 499 ? "disconnected" : status < 500 ? "refused" : "error";
      const outcome = status >= 400 ? refused : code ? "truncated" : (known.outcome ?? "complete");
      const durationMs = Date.now() - startedAt;
      const event = { ...known, type: "request", method, status, outcome, durationMs } as const;
      notify(settings, { ...event, ...(code && { code }) }, incoming);
    },
  };
  return report;
}

/** The header of W3C Trace Context: version, trace id, parent id, flags; neither id may be all zeros. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** Returns true for a well-formed `traceparent`. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === "string" && TRACEPARENT.test(value);
}
