import type { Outcome, RequestEvent } from "../api/events.js";

/** The record of one request, which becomes its event. */
export type Report = ReturnType<typeof openReport>;

/**
 * @param notify is given the event at the end
 * @param logFailure is given what a function of the operator threw where the request does not depend on it
 */
export function openReport(
  { method, headers }: Pick<Request, "method" | "headers">,
  notify: (event: RequestEvent) => unknown,
  logFailure: (option: string, error: unknown) => void = () => {},
) {
  const traceparent = headers.get("traceparent");
  const startedAt = Date.now();
  const works: (() => void)[] = [];
  let isOver = false;
  /** The facts so far. Each check adds its own. */
  const known: { -readonly [Key in keyof RequestEvent]?: RequestEvent[Key] } & { requestId: string } = {
    requestId: crypto.randomUUID(),
    ...(isTraceparent(traceparent) && { traceparent }),
  };
  /** Values beside the keys that the log must not show. */
  const secrets: string[] = [];
  return {
    known,
    startedAt,
    secrets,
    logFailure,
    /** Notes the time to the first byte of the answer. Later calls change nothing. */
    firstByte(): void {
      known.firstByteMs ??= Date.now() - startedAt;
    },
    /** Runs `work` at the end of the request, once. */
    atEnd: (work: () => void): void => void works.push(work),
    /** Ends the report and notifies `onEvent`. Later calls change nothing. */
    end(status: number, code?: string): void {
      if (isOver) return;
      isOver = true;
      for (const work of works) work();
      const outcome = readOutcome(status, code, known.outcome);
      const durationMs = Date.now() - startedAt;
      const event = { ...known, kind: "request", method, status, outcome, durationMs } as const;
      // it may be async: on some hosts an unhandled rejection ends the process
      const notified = async () => notify({ ...event, ...(code && { code }) });
      notified().catch((error) => logFailure("onEvent", error));
    },
  };
}

function readOutcome(status: number, code: string | undefined, end: Outcome = "complete"): Outcome {
  if (status === 499) return "left";
  if (status >= 400) return status < 500 ? "refused" : "failed";
  return code ? "cut" : end;
}

/** The header of W3C Trace Context: version, trace id, parent id, flags; neither id may be all zeros. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** Returns true for a well-formed `traceparent`. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === "string" && TRACEPARENT.test(value);
}
