import { models } from "@sluice/core/schemas";
import * as v from "valibot";
import type { ScriptedReply } from "../server/exchange.js";
import { faultTables } from "../server/fault-tables.js";

/** Replies and faults that a test decides, as plain JSON. */
export interface Script {
  /** Rules. The first rule that matches a request decides. */
  readonly replies: readonly ScriptedRule[];
}

/** A rule of a script: conditions and a reply. A request must meet all conditions that are given. */
export interface ScriptedRule extends ScriptedReply {
  /** Model of the request. @default any model */
  readonly model?: string;
  /**
   * Text that the prompt contains, in any case: the last user message of a chat, the prompt of an image or a video, or
   * the name of an asset. @default any prompt
   */
  readonly prompt?: string;
  /**
   * Name of the tool whose result ends the request. A request that ends with a tool result only matches a rule with
   * `tool`: otherwise a rule that calls a tool would call it forever. @default the request ends without a tool result
   */
  readonly tool?: string;
  /** Number of requests that the rule handles before the next rule takes over. @default no limit */
  readonly times?: number;
  /** Faults, as in the prompt but without brackets: `["slow", "429:2"]`. @default none */
  readonly faults?: readonly string[];
}

const known = Object.keys(models);
const faults = [...new Set(Object.values(faultTables).flatMap((table) => Object.keys(table)))];

const text = v.string("must be a string");
const count = v.pipe(
  v.number("must be a number"),
  v.check((n) => Number.isInteger(n) && n > 0, "must be 1 or more"),
);
const fault = v.pipe(
  text,
  v.check(
    (name) => faults.includes(name.replace(/:\d+$/, "")),
    ({ input }) => `is not a fault: ${input}; there are ${faults.join(", ")}`,
  ),
);
const toolCall = v.strictObject({ name: text, arguments: v.optional(v.unknown()) }, ({ expected, input }) =>
  expected === "never"
    ? "is not a field of a call; there are name, arguments"
    : `must be a call { name, arguments }, got ${JSON.stringify(input)}`,
);
const fields = {
  model: v.optional(v.picklist(known, `must be one of ${known.join(", ")}`)),
  prompt: v.optional(text),
  tool: v.optional(text),
  times: v.optional(count),
  content: v.optional(text),
  reasoning: v.optional(text),
  toolCalls: v.optional(v.array(toolCall, "must be a list of { name, arguments }")),
  faults: v.optional(v.array(fault, "must be a list of faults")),
};
const reply = v.strictObject(fields, ({ expected }) =>
  expected === "never"
    ? `is not a field of a reply; there are ${Object.keys(fields).join(", ")}`
    : 'must be a reply, as in { "prompt": "weather", "content": "It rains." }',
);
const script = v.strictObject(
  { $schema: v.optional(v.string()), replies: v.array(reply, "must be a list of replies") },
  ({ expected }) =>
    expected === "never"
      ? "is not a field of a script; there is replies"
      : 'must be a script, as in { "replies": [{ "prompt": "weather", "content": "It rains." }] }',
);

/**
 * Validates a script from JSON.
 *
 * @throws TypeError that names each wrong field, `replies.0.faults.1`.
 */
export function checkScript(value: unknown): Script {
  const { success, output, issues } = v.safeParse(script, value);
  if (success) return output as Script;
  const problems = issues.map((issue) => `${v.getDotPath(issue) ?? "the script"} ${issue.message}`);
  throw new TypeError(problems.join("\n"));
}
