import { describeThrown } from "@sluice/core/extend";
import type { ChatToolCall } from "./message.js";

/** Adds the output to a call. The call fails if the output is not JSON. */
export function addOutput(call: ChatToolCall, output: unknown): ChatToolCall {
  const problem = findJSONProblem(output);
  return problem
    ? failCall(call, `the result of the tool does not fit into JSON: ${problem}`)
    : { ...call, state: "done", output };
}

/** Maximum nesting of a result. A deeper value could overflow the stack inside a larger value. */
const MAX_DEPTH = 500;

/** Returns the reason why a value cannot be written as JSON; undefined if it can. */
export function findJSONProblem(value: unknown): string | undefined {
  const depths = new Map<unknown, number>();
  try {
    JSON.stringify(value, function (this: unknown, _key, item: unknown) {
      const depth = (depths.get(this) ?? 0) + 1;
      if (depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} deep`);
      if (typeof item === "object") depths.set(item, depth);
      return item;
    });
  } catch (cause) {
    return describeThrown(cause);
  }
  return undefined;
}

/** Ends a call with an error, which the model gets. */
export function failCall(call: ChatToolCall, error: string): ChatToolCall {
  return { ...call, state: "failed", error };
}
