import type { ChatRequest } from "@sluice/core";
import { isObject, type Schema } from "./json-schema.js";
import { readText } from "./message-text.js";

/** Larger messages are not searched. */
const MAX_CHARACTERS = 200_000;
/** Maximum number of braces that are tried in one message. */
const MAX_TRIES = 200;

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];

/**
 * Finds the JSON Schema for the reply: beside `response_format`, or in the messages. The spec has no field for a
 * schema, so clients write it into a system message or the prompt.
 */
export function findSchema({ messages, ...fields }: ChatRequest): Schema | undefined {
  const format = "response_format" in fields ? (fields.response_format as ResponseFormat) : undefined;
  const wantsJSON = format?.type === "json_object";
  const beside = wantsJSON ? [format.schema, format.json_schema?.schema].find(isSchema) : undefined;
  if (beside) return beside;
  const question = messages.findLast(({ role }) => role === "user");
  const shown = messages.filter((message) => message.role === "system" || message === question);
  return shown.map((message) => findSchemaInText(readText(message), wantsJSON)).findLast(isSchema);
}

/** Finds the example of a request in JSON mode: the last object in its instructions and its prompt. */
export function findExample({ messages }: ChatRequest): object | undefined {
  const question = messages.findLast(({ role }) => role === "user");
  const shown = messages.filter((message) => message.role === "system" || message === question);
  return shown.map((message) => findLastObject(readText(message))).findLast((found) => found !== undefined);
}

function findLastObject(text: string): object | undefined {
  if (text.length > MAX_CHARACTERS) return undefined;
  let found: object | undefined;
  for (const value of readObjects(text)) if (Object.keys(value).length > 0) found = value;
  return found;
}

/** The fields of `response_format` in which clients send a schema. */
interface ResponseFormat {
  readonly type?: unknown;
  readonly schema?: unknown;
  readonly json_schema?: { readonly schema?: unknown };
}

/** Finds the last schema of a text. Without JSON mode, the text must contain the word “schema”. */
function findSchemaInText(text: string, wantsJSON: boolean): Schema | undefined {
  if (text.length > MAX_CHARACTERS || !(wantsJSON || /\bschema\b/i.test(text))) return undefined;
  let found: Schema | undefined;
  // some clients wrap the schema in an object with a name
  for (const value of readObjects(text)) found = [value, value.schema].find(isSchema) ?? found;
  return found;
}

/** Reads the outermost JSON objects of a text. */
function* readObjects(text: string): Generator<Schema> {
  let at = text.indexOf("{");
  for (let tries = 0; at !== -1 && tries < MAX_TRIES; tries++) {
    const end = findEndOfObject(text, at);
    const value = parseObject(text.slice(at, end));
    if (value) yield value;
    at = text.indexOf("{", value ? end : at + 1);
  }
}

/** Returns the index after the brace that closes the object at `start`, or the end of the text. */
function findEndOfObject(text: string, start: number): number {
  let depth = 0;
  let isText = false;
  for (let at = start; at < text.length; at++) {
    const sign = text[at];
    if (isText && sign === "\\") at++;
    else if (sign === '"') isText = !isText;
    else if (!isText && sign === "{") depth++;
    else if (!isText && sign === "}" && --depth === 0) return at + 1;
  }
  return text.length;
}

function parseObject(text: string): Schema | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isSchema(value: unknown): value is Schema {
  if (!isObject(value)) return false;
  const { type, properties, items, $ref, enum: options } = value;
  return (
    [type].flat().some((name) => TYPES.includes(name as string)) ||
    isObject(properties) ||
    isObject(items) ||
    typeof $ref === "string" ||
    [value.anyOf, value.oneOf, value.allOf, options].some(Array.isArray)
  );
}
