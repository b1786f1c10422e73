import type { ChatRequest } from "@sluice/core";
import { isRecord } from "@sluice/core/extend";
import type { Schema } from "./json-schema.js";
import { readText } from "./message-text.js";

/** Larger messages are not searched. */
const MAX_CHARACTERS = 200_000;
/** Maximum number of braces that are tried in one message. */
const MAX_TRIES = 200;

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];

/**
 * Finds the JSON Schema for the reply: in `response_format`, or in the messages. The spec lacks a field for a schema, so
 * clients write it into a system message or the prompt.
 */
export function findSchema({ messages, ...fields }: ChatRequest): Schema | undefined {
  const format = "response_format" in fields ? (fields.response_format as ResponseFormat) : undefined;
  const wantsJSON = format?.type === "json_object";
  const inFormat = wantsJSON ? [format.schema, format.json_schema?.schema].find(isSchema) : undefined;
  if (inFormat) return inFormat;
  return listInstructions(messages)
    .map((text) => findSchemaInText(text, wantsJSON))
    .findLast(isSchema);
}

/** Finds the example of a request in JSON mode: the last object in its instructions and its prompt. */
export function findExample({ messages }: ChatRequest): object | undefined {
  const objects = listInstructions(messages).flatMap((text) => [...readObjects(text)]);
  return objects.findLast((value) => Object.keys(value).length > 0);
}

/** Returns the texts of the system messages and of the last user message. */
function listInstructions(messages: ChatRequest["messages"]): string[] {
  const prompt = messages.findLast(({ role }) => role === "user");
  return messages.filter((message) => message.role === "system" || message === prompt).map(readText);
}

/** The fields of `response_format` that may contain a schema. */
interface ResponseFormat {
  readonly type?: unknown;
  readonly schema?: unknown;
  readonly json_schema?: { readonly schema?: unknown };
}

/** Finds the last schema of a text. Without JSON mode, the text must contain the word “schema”. */
function findSchemaInText(text: string, wantsJSON: boolean): Schema | undefined {
  if (!wantsJSON && !/\bschema\b/i.test(text)) return undefined;
  // some clients wrap the schema in an object with a name
  return [...readObjects(text)].flatMap((value) => [value, value.schema].filter(isSchema).slice(0, 1)).at(-1);
}

/** Reads the outermost JSON objects of a text. */
function* readObjects(text: string): Generator<Schema> {
  if (text.length > MAX_CHARACTERS) return;
  let index = text.indexOf("{");
  for (let tries = 0; index !== -1 && tries < MAX_TRIES; tries++) {
    const end = findEndOfObject(text, index);
    const value = parseObject(text.slice(index, end));
    if (value) yield value;
    index = text.indexOf("{", value ? end : index + 1);
  }
}

/** Returns the index after the brace that closes the object index `start`, or the end of the text. */
function findEndOfObject(text: string, start: number): number {
  let depth = 0;
  let isInString = false;
  for (let index = start; index < text.length; index++) {
    const character = text[index];
    if (isInString && character === "\\") index++;
    else if (character === '"') isInString = !isInString;
    else if (!isInString && character === "{") depth++;
    else if (!isInString && character === "}" && --depth === 0) return index + 1;
  }
  return text.length;
}

function parseObject(text: string): Schema | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isSchema(value: unknown): value is Schema {
  if (!isRecord(value)) return false;
  const { type, properties, items, $ref, enum: options } = value;
  return (
    [type].flat().some((name) => TYPES.includes(name as string)) ||
    isRecord(properties) ||
    isRecord(items) ||
    typeof $ref === "string" ||
    [value.anyOf, value.oneOf, value.allOf, options].some(Array.isArray)
  );
}
