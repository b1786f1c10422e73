import type { RequestEvent } from "../api/events.js";
import type { AdmittedRequest } from "../api/plugin.js";

/** A request as it comes in. */
export type Incoming<Env> = Pick<AdmittedRequest<Env>, "request" | "env" | "context">;

/** The fields of the event that are known so far. */
type KnownFields = { -readonly [Field in keyof RequestEvent]?: RequestEvent[Field] } & { requestId: string };

/** The record of one request. Plugins with `onEvent` get an event made from it. */
export type Report = ReturnType<typeof openReport>;

/** Opens the record of a request. Each check adds its details. */
export function openReport({ headers }: Request) {
  const traceparent = headers.get("traceparent");
  const startedAt = Date.now();
  const known: KnownFields = { requestId: crypto.randomUUID() };
  if (isTraceparent(traceparent)) known.traceparent = traceparent;
  const onEnd: ((status: number, code?: string) => void)[] = [];
  return {
    known,
    startedAt,
    /** Headers of every response: no cache stores it, and no browser guesses another type. */
    headers: {
      vary: "Origin",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    } as Record<string, string>,
    /** Values beside the keys that the log must not show. */
    secrets: [] as string[],
    /** The text of a chat's stream up to its first event. */
    head: "",
    /** Called once, at the end of the request. */
    onEnd,
    /** Notes the time to the first byte of the response. Later calls change nothing. */
    firstByte(): void {
      known.firstByteMs ??= Date.now() - startedAt;
    },
    /** Ends the record. Later calls change nothing. */
    end(status: number, code?: string): void {
      for (const listener of onEnd.splice(0)) listener(status, code);
    },
  };
}

/** The header of W3C Trace Context: version, trace id, parent id, flags; neither id may be all zeros. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** Returns true for a well-formed `traceparent`. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === "string" && TRACEPARENT.test(value);
}
