import type { ChatRequest } from "@sluice/core";
import { isObject, type Schema } from "./json-schema.js";
import { textOf } from "./message-text.js";

/** Larger messages are not searched. */
const MOST_CHARACTERS = 200_000;
/** Braces of one message from which an object is read. */
const MOST_TRIES = 200;

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];

/**
 * Finds the JSON Schema that the answer has to fit: beside `response_format`, or in the messages. The spec has no field
 * for it, so that clients write it into a system message or the question, behind words of their own.
 */
export function shownSchema({ messages, ...fields }: ChatRequest): Schema | undefined {
  const format = "response_format" in fields ? (fields.response_format as Fields) : undefined;
  const wantsJSON = format?.type === "json_object";
  const beside = wantsJSON ? [format.schema, format.json_schema?.schema].find(isSchema) : undefined;
  if (beside) return beside;
  const question = messages.findLast(({ role }) => role === "user");
  const shown = messages.filter((message) => message.role === "system" || message === question);
  return shown.map((message) => schemaIn(textOf(message), wantsJSON)).findLast(isSchema);
}

/** Finds the example of a request in JSON mode: the last object in its instructions and its question. */
export function shownExample({ messages }: ChatRequest): object | undefined {
  const question = messages.findLast(({ role }) => role === "user");
  const shown = messages.filter((message) => message.role === "system" || message === question);
  return shown.map((message) => lastObjectIn(textOf(message))).findLast((found) => found !== undefined);
}

function lastObjectIn(text: string): object | undefined {
  if (text.length > MOST_CHARACTERS) return undefined;
  let found: object | undefined;
  for (const value of objectsIn(text)) if (Object.keys(value).length > 0) found = value;
  return found;
}

interface Fields {
  readonly type?: unknown;
  readonly schema?: unknown;
  readonly json_schema?: { readonly schema?: unknown };
}

/** The last schema of a text. Without JSON mode the text has to call it one. */
function schemaIn(text: string, wantsJSON: boolean): Schema | undefined {
  if (text.length > MOST_CHARACTERS || !(wantsJSON || /\bschema\b/i.test(text))) return undefined;
  let found: Schema | undefined;
  // some clients write it with a name
  for (const value of objectsIn(text)) found = [value, value.schema].find(isSchema) ?? found;
  return found;
}

/** Reads the JSON objects of a text, outermost ones only. */
function* objectsIn(text: string): Generator<Schema> {
  let at = text.indexOf("{");
  for (let tries = 0; at !== -1 && tries < MOST_TRIES; tries++) {
    const end = endOfObject(text, at);
    const value = parsed(text.slice(at, end));
    if (value) yield value;
    at = text.indexOf("{", value ? end : at + 1);
  }
}

/** The place behind the brace that closes the one at `start`; the end of the text where there is none. */
function endOfObject(text: string, start: number): number {
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

function parsed(text: string): Schema | undefined {
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
