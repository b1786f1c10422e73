import { readHints } from "./hints.js";
import type { ChatJob, ToolDefinition } from "./job.js";
import { sample } from "./sample.js";

/** A tool call of the model. `arguments` is JSON as text. */
export interface ChosenCall {
  readonly name: string;
  readonly arguments: string;
}

const REQUESTS_A_TOOL = /\b(use|using|call|calling|run|invoke)\b/i;

/**
 * Chooses the tool calls: the tools that `tool_choice` demands, else the tools that the prompt names. A request that
 * ends with tool results gets no call, so that every loop ends.
 */
export function chooseCalls(job: ChatJob): ChosenCall[] {
  if (job.toolResults.length > 0) return [];
  const hints = readHints(job.prompt);
  return chooseTools(job).map(({ function: { name, parameters } }) => ({
    name,
    // arguments are always an object; the schema may lack a type
    arguments: JSON.stringify(sample({ ...parameters, type: "object" }, hints)),
  }));
}

function chooseTools({ prompt, toolChoice, tools }: ChatJob): readonly ToolDefinition[] {
  if (toolChoice === "none") return [];
  if (typeof toolChoice === "object")
    return tools.filter((tool) => tool.function.name === toolChoice.name).slice(0, 1);
  const named = REQUESTS_A_TOOL.test(prompt) ? findNamedTools(prompt, tools) : [];
  return named.length === 0 && toolChoice === "required" ? tools.slice(0, 1) : named;
}

function findNamedTools(prompt: string, tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const words = normalize(prompt);
  const named = tools.filter((tool) => words.includes(normalize(tool.function.name)));
  if (named.length > 0) return named;
  if (/\b(both|all|the) (of )?(the )?tools\b/i.test(prompt)) return tools;
  return /\b(the|your|a|this|that) tool\b/i.test(prompt) ? tools.slice(0, 1) : [];
}

/** Normalizes a name: `get_weather`, `get-weather` and `Get weather` are the same. */
function normalize(text: string): string {
  return ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim()} `;
}
