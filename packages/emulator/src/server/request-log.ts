import type { BodyEnd } from "./response-body.js";

/** One request that the emulator received, with its result. It is updated while the answer streams. */
export interface EmulatorRequest {
  /** The `x-request-id` of the answer. */
  readonly id: string;
  readonly method: string;
  /** The path without host and query, `/v1/chat/completions`. */
  readonly path: string;
  /** Headers by lower-case name; `authorization` and `cookie` are redacted. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The parsed JSON. Of a form, its fields, with files as `{ name, type, size, hash }`. Of any other body, its text.
   * Undefined if there was none.
   */
  readonly body: unknown;
  /**
   * Paths of the fields that the specification does not list for the model, `["n", "messages.0.createdAt"]`. Of equal
   * fields in a list, only the first is named. Empty for a request that was refused for another reason.
   */
  readonly unknownFields: readonly string[];
  /** Names of the faults that the request or the script asks for, `["slow", "drop"]`. */
  readonly faults: readonly string[];
  /** Words in double brackets that are no faults, `["strem"]`. */
  readonly unknownFaults: readonly string[];
  /** Time of arrival, in milliseconds of the emulator's clock. */
  readonly at: number;
  /** Time at which the answer ended, on the same clock; undefined while it has not. */
  readonly endedAt: number | undefined;
  /** HTTP status of the answer; undefined while there is none. */
  readonly status: number | undefined;
  /** Message of a refusal, as the answer has it; undefined for an answer below 400. */
  readonly error: string | undefined;
  /** Number of deltas (text, reasoning, tool arguments) of a streamed answer so far. */
  readonly deltas: number;
  /** True if the client left before the end: it aborted, cancelled the body, or closed the connection. */
  readonly aborted: boolean;
  /** True once the whole answer was handed over. */
  readonly finished: boolean;
}

/** A record whose request is being answered. */
export type OpenRecord = { -readonly [Field in keyof EmulatorRequest]: EmulatorRequest[Field] };

const SECRET_HEADERS = ["authorization", "cookie"];
const MOST_CHARACTERS = 64_000_000;

/** Keeps the last `max` requests, with at most 64 million characters of bodies. */
export function createRequestLog(max: number) {
  const requests: OpenRecord[] = [];
  const sizes = new WeakMap<OpenRecord, number>();
  let characters = 0;

  return { requests, open, clear };

  function open(request: Request, text: string, id: string, at: number): OpenRecord {
    const record: OpenRecord = {
      id,
      method: request.method,
      path: new URL(request.url).pathname,
      headers: redacted(request.headers),
      body: parsed(text),
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
    while (requests.length > max || (characters > MOST_CHARACTERS && requests.length > 1)) dropOldest();
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

/** Notes the end of an answer. Returns false if it had ended already: a broken body is cancelled too. */
export function closeRecord(record: OpenRecord, end: BodyEnd, now: number): boolean {
  if (record.endedAt !== undefined) return false;
  record.endedAt = now;
  record.aborted = end === "aborted";
  record.finished = end === "finished";
  return true;
}

function redacted(headers: Headers): Record<string, string> {
  const seen: Record<string, string> = {};
  headers.forEach((value, name) => {
    seen[name] = SECRET_HEADERS.includes(name) ? "[redacted]" : value;
  });
  return seen;
}

function parsed(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
