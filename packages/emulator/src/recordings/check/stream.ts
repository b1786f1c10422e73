import { type RecordedResponse, type Recording, toEventText } from "../recording.js";
import type { Found } from "./finding.js";
import { listFields } from "./shape.js";

/** Events of a streamed response, as texts. */
export type Stream = readonly string[];

/** Returns the events of a streamed response, or undefined for any other response. */
export function readStream({ events, headers }: RecordedResponse): Stream | undefined {
  return /^text\/event-stream\b/i.test(headers["content-type"] ?? "")
    ? (events ?? []).map(toEventText)
    : undefined;
}

/** Compares a stream with the specification, which shows no chunk: the fields of chunks are listed as recorded. */
export function checkStream(stream: Stream, { request, response }: Recording): Found[] {
  const data = stream.flatMap((text) => /^data: ?(.*)$/m.exec(text)?.[1] ?? []);
  const chunks = data.filter((text) => text !== "[DONE]").map(parseJSON);
  const shapes = new Set(chunks.flatMap((chunk) => (chunk === undefined ? [] : listFields(chunk))));
  const found: Found[] = [...shapes].map((text) => ({ kind: "shown", text: `chunk: ${text}` }));
  const addDifference = (text: string) => void found.push({ kind: "differs", text: `stream: ${text}` });
  if ((request.body as { stream?: unknown } | undefined)?.stream !== true)
    addDifference("the answer is streamed, and the request has no stream: true");
  if (chunks.includes(undefined)) addDifference("an event is not JSON");
  if (response.end === "broken") addDifference("the connection broke");
  if (response.end !== "finished") return found;
  if (!data.includes("[DONE]")) found.push({ kind: "shown", text: "stream: ends without [DONE]" });
  if (![...shapes].some((shape) => /finish_reason "/.test(shape)))
    addDifference("no chunk has a finish_reason");
  return found;
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
