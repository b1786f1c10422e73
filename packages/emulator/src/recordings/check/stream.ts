import { type RecordedResponse, type Recording, textOfEvent } from "../recording.js";
import type { Found } from "./finding.js";
import { shapeOf } from "./shape.js";

/** Events of a streamed answer, as texts. */
export type Stream = readonly string[];

/** Returns the events of a streamed answer; undefined for any other. */
export function streamOf({ events, headers }: RecordedResponse): Stream | undefined {
  return /^text\/event-stream\b/i.test(headers["content-type"] ?? "")
    ? (events ?? []).map(textOfEvent)
    : undefined;
}

/** Describes a stream. The specification shows no chunk, so that its fields are reported as they are. */
export function findingsOfStream(stream: Stream, { request, response }: Recording): Found[] {
  const data = stream.flatMap((text) => /^data: ?(.*)$/m.exec(text)?.[1] ?? []);
  const chunks = data.filter((text) => text !== "[DONE]").map(parsed);
  const shapes = new Set(chunks.flatMap((chunk) => (chunk === undefined ? [] : shapeOf(chunk))));
  const found: Found[] = [...shapes].map((text) => ({ kind: "shown", text: `chunk: ${text}` }));
  const differs = (text: string) => void found.push({ kind: "differs", text: `stream: ${text}` });
  if ((request.body as { stream?: unknown } | undefined)?.stream !== true)
    differs("the answer is streamed, and the request has no stream: true");
  if (chunks.includes(undefined)) differs("an event is not JSON");
  if (response.end === "broken") differs("the connection broke");
  if (response.end !== "finished") return found;
  if (!data.includes("[DONE]")) found.push({ kind: "shown", text: "stream: ends without [DONE]" });
  if (![...shapes].some((shape) => /finish_reason "/.test(shape))) differs("no chunk has a finish_reason");
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
