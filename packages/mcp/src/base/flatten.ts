import { isRecord } from "./is-record.js";

type Schema = Readonly<Record<string, unknown>>;

/** Keywords that are left out: the client checks their rules anyway. */
const LEFT_OUT = ["contains", "minContains", "maxContains", "allOf", "default"];

/** Length of a description that says no more than the name of its field: "Opacity of the logo." */
const MAX_LABEL = 40;

/** Fields of messages that are accepted, and are not worth their place in the list. */
const UNLISTED = ["tool_calls", "tool_call_id", "reasoning_content", "name"];

/**
 * Makes a schema short, because the agent reads the schemas of all tools: the kinds of an object become one object with the
 * fields of all kinds, a description is one sentence, and `null` and rules across fields are left out. A flat schema accepts
 * each request that the client accepts, but for `null`.
 */
export function flatten(schema: Schema): Record<string, unknown> {
  const { anyOf, properties, items, ...rest } = schema;
  const short = Object.fromEntries(Object.entries(rest).filter(([name]) => !LEFT_OUT.includes(name)));
  if (typeof short["description"] === "string") short["description"] = firstSentence(short["description"]);
  if (isRecord(properties)) {
    const fields = Object.entries(properties).filter(
      ([name, field]) => isRecord(field) && !("not" in field) && !UNLISTED.includes(name),
    );
    const listed = listOf(short["required"]).filter((name) => !UNLISTED.includes(String(name)));
    if (short["required"]) short["required"] = listed;
    short["properties"] = Object.fromEntries(
      fields.map(([name, field]) => [name, withoutLabel(flatten(field as Schema))]),
    );
  }
  if (isRecord(items)) short["items"] = flatten(items);
  if (!Array.isArray(anyOf)) return short;
  const kinds = merged(anyOf.filter(({ type }) => type !== "null").map(flatten));
  return kinds.length === 1 ? { ...kinds[0], ...short } : { anyOf: kinds, ...short };
}

/** Removes a description that says no more than the name of its field. */
function withoutLabel({ description, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return typeof description === "string" && description.length > MAX_LABEL ? { ...rest, description } : rest;
}

function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;
}

/** Merges the objects of a list of schemas, and the lists; values stay apart. */
function merged(schemas: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  const result: Record<string, unknown>[] = [];
  for (const schema of schemas) {
    const { type } = schema;
    const index = result.findIndex(
      (other) => other["type"] === type && (type === "object" || type === "array"),
    );
    const other = result[index];
    if (!other) result.push(schema);
    else result[index] = type === "object" ? mergedObjects(other, schema) : mergedLists(other, schema);
  }
  return result;
}

function mergedObjects(one: Schema, other: Schema): Record<string, unknown> {
  const fields: Record<string, unknown> = { ...(one["properties"] as object) };
  for (const [name, field] of Object.entries((other["properties"] ?? {}) as Record<string, Schema>))
    fields[name] = name in fields ? mergedFields(fields[name] as Schema, field) : field;
  const required = listOf(one["required"]).filter((name) => listOf(other["required"]).includes(name));
  return { ...one, properties: fields, ...(one["required"] !== undefined && { required }) };
}

function mergedLists(one: Schema, other: Schema): Record<string, unknown> {
  const items = flatten({ anyOf: [one["items"], other["items"]].filter(isRecord) });
  const { minItems: _, maxItems: __, ...rest } = one;
  return { ...rest, ...(Object.keys(items).length > 0 && { items }) };
}

/** Merges two schemas of one field. */
function mergedFields(one: Schema, other: Schema): Record<string, unknown> {
  const values = [...valuesOf(one), ...valuesOf(other)];
  const isListed = valuesOf(one).length > 0 && valuesOf(other).length > 0;
  const { const: _, ...rest } = one;
  if (isListed) return { ...rest, enum: [...new Set(values)] };
  const { description, ...bare } = one;
  const { description: __, ...otherBare } = other;
  if (JSON.stringify(bare) === JSON.stringify(otherBare)) return { ...one };
  const kinds = merged([...kindsOf(bare), ...kindsOf(otherBare)]);
  const different = [...new Map(kinds.map((kind) => [JSON.stringify(kind), kind])).values()];
  return {
    ...(different.length === 1 ? different[0] : { anyOf: different }),
    ...(description !== undefined && { description }),
  };
}

function kindsOf(schema: Schema): Record<string, unknown>[] {
  return Array.isArray(schema["anyOf"]) ? (schema["anyOf"] as Record<string, unknown>[]) : [{ ...schema }];
}

/** Values of an `enum` or a `const`. */
function valuesOf(schema: Schema): readonly unknown[] {
  return "const" in schema ? [schema["const"]] : listOf(schema["enum"]);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
