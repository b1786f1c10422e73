import type { RequestEvent } from "../api/events.js";
import type { AdmittedRequest } from "../api/plugin.js";

/** A request as it comes in. */
export type Incoming<Env> = Pick<AdmittedRequest<Env>, "request" | "env" | "context">;

/** The fields of the event that are known so far. */
type KnownFields = { -readonly [Field in keyof RequestEvent]?: RequestEvent[Field] } & { requestId: string };

/** The record of one request. Each check adds its details. Plugins with `onEvent` get an event made from it. */
export interface Report {
  readonly known: KnownFields;
  /** Time at which the request arrived, in Unix milliseconds. */
  readonly startedAt: number;
  /** Headers of every response: no cache stores it, and no browser guesses another type. */
  readonly headers: Record<string, string>;
  /** Called once, at the end of the request. */
  readonly onEnd: ((status: number, code?: string) => void)[];
  /** Ends the record. Later calls change nothing. */
  end(status: number, code?: string): void;
  /** Called at each piece of the response. Only the first call counts. @default events lack the time */
  onFirstByte?: () => void;
  /** Values beside the keys that the log must not show. */
  secrets?: readonly string[];
  /** The text of a chat's stream up to its first event. */
  head?: string;
}

/** Opens the record of a request. */
export function openReport({ headers }: Request): Report {
  const traceparent = headers.get("traceparent");
  const known: KnownFields = { requestId: crypto.randomUUID() };
  if (isTraceparent(traceparent)) known.traceparent = traceparent;
  const onEnd: Report["onEnd"] = [];
  return {
    known,
    startedAt: Date.now(),
    headers: { vary: "Origin", "cache-control": "no-store", "x-content-type-options": "nosniff" },
    onEnd,
    end(status, code) {
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
