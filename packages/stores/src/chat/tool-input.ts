import type { ChatTool } from "@sluice/core";
import { checkBySchema, issuesText, parseJSON } from "@sluice/core/internal";
import { problemOf, type ThreadToolCall } from "./message.js";

/** Reads the arguments of a call. @throws {Error} for a text that is no JSON */
export function inputOf({ arguments: text }: ThreadToolCall): unknown {
  const input = text.trim() === "" ? {} : parseJSON(text);
  const problem = input === undefined ? text.slice(0, 200) : problemOf(input);
  if (problem) throw new Error(`the arguments are no JSON: ${problem}`);
  return input;
}

/** Checks arguments by the type and the schema of a tool. Returns the output of the schema. @throws {Error} for others */
export async function checkedInput(tool: ChatTool, input: unknown): Promise<unknown> {
  await assertType(tool, input);
  const checked = tool.schema ? await checkBySchema(tool.schema, input) : { value: input };
  if (checked.issues) throw new Error(`the arguments do not fit: ${issuesText(checked.issues)}`);
  return checked.value;
}

/**
 * Refuses arguments of another type than the tool's JSON Schema names. Nearly all arguments are objects, and the schema
 * is read for others alone.
 */
async function assertType(tool: ChatTool, input: unknown): Promise<void> {
  const found = input === null ? "null" : Array.isArray(input) ? "array" : typeof input;
  if (found === "object") return;
  const { type = "object" } = (await tool.definition()).function.parameters ?? {};
  const types = [type].flat();
  if (types.includes(found) || (Number.isInteger(input) && types.includes("integer"))) return;
  throw new Error(`the arguments do not fit: they are of type ${found}, not ${types.join(" or ")}`);
}
