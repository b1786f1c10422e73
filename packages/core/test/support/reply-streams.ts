import type { StandardSchema } from "@sluice/core";
import { DONE, frame } from "./gateway.js";

/** Writes the stream of a response with one delta of text. */
export function streamText(content: string): string {
  return frame({ content }) + frame({}, "stop") + DONE;
}

/** Writes the stream of a response that calls tools: `streamCalls({ a: ["weather", '{"city":"Rome"}'] })`. */
export function streamCalls(
  calls: Readonly<Record<string, readonly [string, string]>>,
  before: object = {},
): string {
  const tool_calls = Object.entries(calls).map(([id, [name, text]], index) => ({
    index,
    id,
    type: "function",
    function: { name, arguments: text },
  }));
  return frame(before) + frame({ tool_calls }) + frame({}, "tool_calls") + DONE;
}

/** Creates a schema of a library that cannot write JSON Schema. */
export function checkOnly(fits: (value: unknown) => boolean): StandardSchema {
  const validate = (value: unknown) => (fits(value) ? { value } : { issues: [{ message: "no" }] });
  return { "~standard": { version: 1, vendor: "other", validate } };
}
