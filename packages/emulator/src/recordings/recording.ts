import { describeThrown } from "@sluice/core/extend";
import * as v from "valibot";

const text = v.string();
const ms = v.pipe(v.number(), v.minValue(0));
const eventSchema = v.union([
  v.strictObject({ afterMs: ms, data: v.unknown() }),
  v.strictObject({ afterMs: ms, text }),
]);
const recordingSchema = v.strictObject({
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
    events: v.optional(v.array(eventSchema)),
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
  /** Parsed JSON; the fields of a form, with files as `{ name, type, size, hash }`; or the text of any other body. */
  readonly body?: unknown;
}

/** Recorded response. It has `body`, `text` or `events`, or none of them if the response was empty. */
export interface RecordedResponse {
  readonly status: number;
  /** Headers that a reader needs. Other headers are not recorded. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds from the request to the head of the response, or to the end of a response that is not streamed. */
  readonly afterMs: number;
  /** How the response ended: complete, broken by the gateway, or aborted by the client. */
  readonly end: "finished" | "broken" | "aborted";
  /** JSON of a response that is not streamed. */
  readonly body?: unknown;
  /** Text of a response that is not streamed and not compact JSON. */
  readonly text?: string;
  /** Events of a response that is streamed or cut. */
  readonly events?: readonly RecordedEvent[];
}

/**
 * An event of a stream, and the milliseconds since the event before. `data` is its JSON, sent as `data: <JSON>` and an
 * empty line. Any other event is `text`, exactly as it arrived.
 */
export type RecordedEvent =
  | { readonly afterMs: number; readonly data: unknown }
  | { readonly afterMs: number; readonly text: string };

/** Formats a recording as readable JSON: one field or one event per line. */
export function formatRecording(recording: Recording): string {
  const { events, ...response } = recording.response;
  const withoutEvents = { ...recording, response: events ? { ...response, events: [] } : response };
  const json = JSON.stringify(withoutEvents, null, 2);
  if (!events?.length) return `${json}\n`;
  const lines = events.map((event) => `      ${JSON.stringify(event)}`).join(",\n");
  // the empty list is the last field, so only the end of the text is replaced
  const withEvents = json.replace(
    /"events": \[\]\n {2}\}\n\}$/,
    () => `"events": [\n${lines}\n    ]\n  }\n}`,
  );
  return `${withEvents}\n`;
}

/**
 * Parses a recording.
 *
 * @throws TypeError that names the wrong field.
 */
export function parseRecording(source: string): Recording {
  const { success, output, issues } = v.safeParse(recordingSchema, parseJSON(source));
  if (success) return output as Recording;
  throw new TypeError(
    issues.map((issue) => `${v.getDotPath(issue) ?? "the recording"}: ${issue.message}`).join("\n"),
  );
}

/** Returns the text of an event, as it arrived. */
export function toEventText(event: RecordedEvent): string {
  return "text" in event ? event.text : `data: ${JSON.stringify(event.data)}\n\n`;
}

function parseJSON(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    throw new TypeError(`it is not JSON: ${describeThrown(error)}`);
  }
}
