import { parseText } from "./request-body.js";
import type { BodyEnd } from "./response-body.js";

/** A request that the emulator received, with its result. It is updated while the response streams. */
export interface EmulatorRequest {
  /** The `x-request-id` of the response. */
  readonly id: string;
  readonly method: string;
  /** The path without host and query, `/v1/chat/completions`. */
  readonly path: string;
  /** Headers by lower-case name; `authorization` and `cookie` are redacted. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Parsed JSON; the fields of a form, with files as `{ name, type, size, hash }`; or the text of any other body.
   * Undefined without a body.
   */
  readonly body: unknown;
  /**
   * Paths of the fields that the specification does not list for the model, `["n", "messages.0.createdAt"]`. Of equal
   * fields in a list, only the first is named. Empty for a request that was refused for another reason.
   */
  readonly unknownFields: readonly string[];
  /** Names of the faults in the request or the script, `["slow", "drop"]`. */
  readonly faults: readonly string[];
  /** Words in double brackets that are not faults, `["strem"]`. */
  readonly unknownFaults: readonly string[];
  /** Time of arrival, in milliseconds of the emulator's clock. */
  readonly at: number;
  /** Time at which the response ended, on the same clock. Undefined while it streams. */
  readonly endedAt: number | undefined;
  /** HTTP status. Undefined before the response. */
  readonly status: number | undefined;
  /** Message of a refusal. Undefined for a response below 400. */
  readonly error: string | undefined;
  /** Number of deltas (text, reasoning, tool arguments) of a streamed response so far. */
  readonly deltas: number;
  /** True if the client disconnected early: it aborted, cancelled the body, or closed the connection. */
  readonly aborted: boolean;
  /** True once the whole response was sent. */
  readonly finished: boolean;
}

/** A record whose request is being handled. */
export type OpenRecord = { -readonly [Field in keyof EmulatorRequest]: EmulatorRequest[Field] };

const SECRET_HEADERS = ["authorization", "cookie"];
const MAX_CHARACTERS = 64_000_000;

/** Stores the last `max` requests, with at most 64 million characters of bodies. */
export function createRequestLog(max: number) {
  const requests: OpenRecord[] = [];
  const sizes = new WeakMap<OpenRecord, number>();
  let characters = 0;

  return { requests, openRecord, clear };

  function openRecord(request: Request, text: string, id: string, at: number): OpenRecord {
    const record: OpenRecord = {
      id,
      method: request.method,
      path: new URL(request.url).pathname,
      headers: redactHeaders(request.headers),
      body: parseText(text),
      unknownFields: [],
      faults: [],
      unknownFaults: [],
      at,
      endedAt: undefined,
      status: undefined,
      error: undefined,
      deltas: 0,
      aborted: false,
      finished: false,
    };
    requests.push(record);
    sizes.set(record, text.length);
    characters += text.length;
    while (requests.length > max || (characters > MAX_CHARACTERS && requests.length > 1)) dropOldest();
    return record;
  }

  function dropOldest() {
    const oldest = requests.shift();
    if (oldest) characters -= sizes.get(oldest) ?? 0;
  }

  function clear() {
    requests.length = 0;
    characters = 0;
  }
}

/** Records the end of a response. Returns false if it had ended before: a broken body is also cancelled. */
export function closeRecord(record: OpenRecord, end: BodyEnd, now: number): boolean {
  if (record.endedAt !== undefined) return false;
  record.endedAt = now;
  record.aborted = end === "aborted";
  record.finished = end === "finished";
  return true;
}

function redactHeaders(headers: Headers): Record<string, string> {
  const redacted: Record<string, string> = {};
  headers.forEach((value, name) => {
    redacted[name] = SECRET_HEADERS.includes(name) ? "[redacted]" : value;
  });
  return redacted;
}
