import { describeThrown } from "@sluice/core/internal";
import * as v from "valibot";

const text = v.string();
const ms = v.pipe(v.number(), v.minValue(0));
const event = v.union([
  v.strictObject({ afterMs: ms, data: v.unknown() }),
  v.strictObject({ afterMs: ms, text }),
]);
const recording = v.strictObject({
  version: v.literal(1),
  recordedAt: text,
  request: v.strictObject({
    method: text,
    path: text,
    body: v.optional(v.unknown()),
  }),
  response: v.strictObject({
    status: v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(599)),
    headers: v.record(text, text),
    afterMs: ms,
    end: v.picklist(["finished", "broken", "aborted"]),
    body: v.optional(v.unknown()),
    text: v.optional(text),
    events: v.optional(v.array(event)),
  }),
});

/** One recorded exchange, without secrets. */
export interface Recording {
  /** Version of this format. */
  readonly version: 1;
  /** Time of the request, ISO 8601. */
  readonly recordedAt: string;
  readonly request: RecordedRequest;
  readonly response: RecordedResponse;
}

/** Recorded request. */
export interface RecordedRequest {
  readonly method: string;
  /** Path and query; the values of the query are redacted. */
  readonly path: string;
  /** The parsed JSON; of a form, its fields, with files as `{ name, type, size, hash }`; of anything else, its text. */
  readonly body?: unknown;
}

/** Recorded answer. It has one of `body`, `text` and `events`, or none if the answer was empty. */
export interface RecordedResponse {
  readonly status: number;
  /** Headers that say how to read the answer; no others are kept. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds from the request to the head of the answer; of an answer that is not streamed, to its end. */
  readonly afterMs: number;
  /** End of the answer: whole, broken by the gateway, or left by the client. */
  readonly end: "finished" | "broken" | "aborted";
  /** The JSON of an answer that is not streamed. */
  readonly body?: unknown;
  /** The text of an answer that is not streamed and no compact JSON. */
  readonly text?: string;
  /** Pieces of an answer that is streamed, or that was cut. */
  readonly events?: readonly RecordedEvent[];
}

/**
 * One event of a stream, and the milliseconds since the one before. `data` is its JSON, sent as `data: <JSON>` and an
 * empty line; any other event is `text`, exactly as it came.
 */
export type RecordedEvent =
  | { readonly afterMs: number; readonly data: unknown }
  | { readonly afterMs: number; readonly text: string };

/** Writes a recording as JSON for people: one field, or one event, a line. */
export function stringifyRecording(given: Recording): string {
  const { events, ...response } = given.response;
  const head = { ...given, response: events ? { ...response, events: [] } : response };
  const lines = (events ?? []).map((one) => `      ${JSON.stringify(one)}`).join(",\n");
  const shown = JSON.stringify(head, null, 2);
  const filled =
    lines === ""
      ? shown
      : shown.replace(/"events": \[\]\n {2}\}\n\}$/, () => `"events": [\n${lines}\n    ]\n  }\n}`);
  return `${filled}\n`;
}

/**
 * Reads a recording.
 *
 * @throws TypeError that says what is wrong, with the field.
 */
export function parseRecording(source: string): Recording {
  const { success, output, issues } = v.safeParse(recording, parsed(source));
  if (success) return output as Recording;
  throw new TypeError(
    issues.map((issue) => `${v.getDotPath(issue) ?? "the recording"}: ${issue.message}`).join("\n"),
  );
}

/** Returns the text of an event, as it came. */
export function textOfEvent(one: RecordedEvent): string {
  return "text" in one ? one.text : `data: ${JSON.stringify(one.data)}\n\n`;
}

function parsed(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    throw new TypeError(`it is not JSON: ${describeThrown(error)}`);
  }
}
