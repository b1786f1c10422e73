import { assetModels, chatModels, imageModels, videoModels } from "@sluice/core/schemas";
import * as v from "valibot";
import { assetScenes } from "../assets/scenes.js";
import { chatScenes } from "../chat/scenes.js";
import { epsilonScenes } from "../epsilon/scenes.js";
import { imageScenes } from "../images/scenes.js";
import type { ScriptedReply } from "../server/scripted.js";
import { videoScenes } from "../videos/scenes.js";

/** Answers and scenes that a test decides, as plain JSON. */
export interface Script {
  /** Rules; the first one that fits a request decides. */
  readonly answers: readonly ScriptedAnswer[];
}

/** One rule of a script: the conditions of a request, then the answer. All conditions that are given must hold. */
export interface ScriptedAnswer extends ScriptedReply {
  /** Model of the request. @default any model */
  readonly model?: string;
  /**
   * Words that the prompt contains, in any case: the last user message of a chat, the prompt of an image or a video, the
   * name of an asset. @default any prompt
   */
  readonly prompt?: string;
  /**
   * Name of the tool whose result ends the request. A request that ends with the result of a tool needs a rule with
   * `tool`: a rule that calls a tool would otherwise call it again. @default the request ends with no result
   */
  readonly tool?: string;
  /** Number of requests that the rule answers; then the next one that fits decides. @default no limit */
  readonly times?: number;
  /** Scenes, as in the prompt but without brackets: `["slow", "429:2"]`. @default none */
  readonly scenes?: readonly string[];
}

const models = [assetModels, chatModels, imageModels, videoModels].flatMap((table) => Object.keys(table));
const scenes = Object.keys({
  ...assetScenes,
  ...chatScenes,
  ...epsilonScenes,
  ...imageScenes,
  ...videoScenes,
});

const text = v.string("must be a string");
const count = v.pipe(
  v.number("must be a number"),
  v.check((n) => Number.isInteger(n) && n > 0, "must be 1 or more"),
);
const scene = v.pipe(
  text,
  v.check(
    (name) => scenes.includes(name.replace(/:\d+$/, "")),
    ({ input }) => `is no scene: ${input}; there are ${scenes.join(", ")}`,
  ),
);
const toolCall = v.strictObject({ name: text, arguments: v.optional(v.unknown()) }, ({ expected, input }) =>
  expected === "never"
    ? "is not a field of a call; there are name, arguments"
    : `must be a call { name, arguments }, got ${JSON.stringify(input)}`,
);
const fields = {
  model: v.optional(v.picklist(models, `must be one of ${models.join(", ")}`)),
  prompt: v.optional(text),
  tool: v.optional(text),
  times: v.optional(count),
  content: v.optional(text),
  reasoning: v.optional(text),
  toolCalls: v.optional(v.array(toolCall, "must be a list of { name, arguments }")),
  scenes: v.optional(v.array(scene, "must be a list of scenes")),
};
const answer = v.strictObject(fields, ({ expected }) =>
  expected === "never"
    ? `is not a field of an answer; there are ${Object.keys(fields).join(", ")}`
    : 'must be an answer, as in { "prompt": "weather", "content": "It rains." }',
);
const script = v.strictObject(
  { $schema: v.optional(v.string()), answers: v.array(answer, "must be a list of answers") },
  ({ expected }) =>
    expected === "never"
      ? "is not a field of a script; there is answers"
      : 'must be a script, as in { "answers": [{ "prompt": "weather", "content": "It rains." }] }',
);

/**
 * Checks a script that was written as JSON.
 *
 * @throws TypeError that names each wrong field, `answers.0.scenes.1`.
 */
export function checkScript(value: unknown): Script {
  const { success, output, issues } = v.safeParse(script, value);
  if (success) return output as Script;
  const problems = issues.map((issue) => `${v.getDotPath(issue) ?? "the script"} ${issue.message}`);
  throw new TypeError(problems.join("\n"));
}
