import { hintsOf } from "./hints.js";
import type { ChatJob, ToolDefinition } from "./job.js";
import { sample } from "./sample.js";

/** A tool call of the model. `arguments` is JSON as text. */
export interface ChosenCall {
  readonly name: string;
  readonly arguments: string;
}

const ASKS_FOR_A_TOOL = /\b(use|using|call|calling|run|invoke)\b/i;

/**
 * Chooses the tool calls: the ones that `tool_choice` demands, else the tools that the prompt names. While tool results
 * wait for an answer there are none, so that every loop ends.
 */
export function chooseCalls(job: ChatJob): ChosenCall[] {
  if (job.toolResults.length > 0) return [];
  const hints = hintsOf(job.prompt);
  return chosenTools(job).map(({ function: { name, parameters } }) => ({
    name,
    // arguments are an object, also where the schema has no type
    arguments: JSON.stringify(sample({ ...parameters, type: "object" }, hints)),
  }));
}

function chosenTools({ prompt, toolChoice, tools }: ChatJob): readonly ToolDefinition[] {
  if (toolChoice === "none") return [];
  if (typeof toolChoice === "object")
    return tools.filter((tool) => tool.function.name === toolChoice.name).slice(0, 1);
  const asked = ASKS_FOR_A_TOOL.test(prompt) ? toolsAskedFor(prompt, tools) : [];
  return asked.length === 0 && toolChoice === "required" ? tools.slice(0, 1) : asked;
}

function toolsAskedFor(prompt: string, tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const words = plain(prompt);
  const named = tools.filter((tool) => words.includes(plain(tool.function.name)));
  if (named.length > 0) return named;
  if (/\b(both|all|the) (of )?(the )?tools\b/i.test(prompt)) return tools;
  return /\b(the|your|a|this|that) tool\b/i.test(prompt) ? tools.slice(0, 1) : [];
}

/** Normalizes a name: `get_weather`, `get-weather` and `Get weather` are the same. */
function plain(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim()} `;
}
