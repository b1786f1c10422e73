import { isRecord } from "../../transport/error-response.js";

/* Names the fields of unexpected types in development. Bundlers drop this code in production. */

/** Returns the path of the first field with an unexpected type, at or below `path`. */
type Find = (value: unknown, path: string) => string | undefined;

const findInvalid =
  (types: readonly string[]): Find =>
  (value, path) =>
    value == null || types.includes(typeof value) ? undefined : path;

const text = findInvalid(["string"]);
const textOrNumber = findInvalid(["string", "number"]);
const count = findInvalid(["number"]);

function record(fields: Readonly<Record<string, Find>>): Find {
  return (value, path) => {
    if (value == null) return undefined;
    if (!isRecord(value)) return path;
    for (const [name, find] of Object.entries(fields)) {
      const found = find(value[name], path ? `${path}.${name}` : name);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** A list of records. An entry must not be null. */
function list(fields: Readonly<Record<string, Find>>): Find {
  const find = record(fields);
  return (value, path) => {
    if (value == null) return undefined;
    if (!Array.isArray(value)) return path;
    for (const item of value) {
      const found = item == null ? path : find(item, path);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** A text, or a list of records. */
function textOr(find: Find): Find {
  return (value, path) => (typeof value === "string" ? undefined : find(value, path));
}

const message = record({
  content: textOr(list({ text, thinking: textOr(list({ text })) })),
  reasoning_content: text,
  reasoning: text,
  refusal: text,
  tool_calls: list({ index: textOrNumber, id: textOrNumber, function: record({ name: text }) }),
});

const find = record({
  id: text,
  model: text,
  choices: list({ finish_reason: text, delta: message, message }),
  usage: record({ prompt_tokens: count, completion_tokens: count, total_tokens: count }),
});

/** Finds the path of the first field of a chunk with an unexpected type; empty if the chunk has none. */
export function findOddField(chunk: unknown): string {
  return find(chunk, "") ?? "";
}
