import { isRecord } from "@sluice/core/extend";

type Schema = Readonly<Record<string, unknown>>;

/** Keywords to drop. The client checks these rules before it sends a request. */
const DROPPED = ["contains", "minContains", "maxContains", "allOf", "default"];

/** A description up to this length only repeats the name of its field: "Opacity of the logo." */
const MAX_LABEL = 40;

/** Fields of messages that the server accepts but does not list, to keep the schema short. */
const UNLISTED = ["tool_calls", "tool_call_id", "reasoning_content", "name"];

/**
 * Shortens a schema, because the agent reads the schemas of all tools: merges the variants of an object into one object
 * with all their fields, cuts each description to one sentence, and drops `null` and rules across fields. The result
 * accepts every request that the client accepts, except for `null`.
 */
export function flatten(schema: Schema): Record<string, unknown> {
  const { anyOf, properties, items, ...rest } = schema;
  const short = Object.fromEntries(Object.entries(rest).filter(([name]) => !DROPPED.includes(name)));
  if (typeof short["description"] === "string")
    short["description"] = readFirstSentence(short["description"]);
  if (isRecord(properties)) {
    const fields = Object.entries(properties).filter(
      ([name, field]) => isRecord(field) && !("not" in field) && !UNLISTED.includes(name),
    );
    const listed = toList(short["required"]).filter((name) => !UNLISTED.includes(String(name)));
    if (short["required"]) short["required"] = listed;
    short["properties"] = Object.fromEntries(
      fields.map(([name, field]) => [name, removeLabel(flatten(field as Schema))]),
    );
  }
  if (isRecord(items)) short["items"] = flatten(items);
  if (!Array.isArray(anyOf)) return short;
  const variants = mergeVariants(anyOf.filter(({ type }) => type !== "null").map(flatten));
  return variants.length === 1 ? { ...variants[0], ...short } : { anyOf: variants, ...short };
}

/** Removes a description that only repeats the name of its field. */
function removeLabel({ description, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return typeof description === "string" && description.length > MAX_LABEL ? { ...rest, description } : rest;
}

function readFirstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;
}

/** Merges all objects in a list of schemas into one, and all arrays into one. Other schemas stay separate. */
function mergeVariants(schemas: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  const merged: Record<string, unknown>[] = [];
  for (const schema of schemas) {
    const { type } = schema;
    const canMerge = type === "object" || type === "array";
    const index = canMerge ? merged.findIndex((other) => other["type"] === type) : -1;
    const same = merged[index];
    if (!same) merged.push(schema);
    else merged[index] = type === "object" ? mergeObjects(same, schema) : mergeArrays(same, schema);
  }
  return merged;
}

/** Creates an object with the fields of both. A field is required if both require it. */
function mergeObjects(one: Schema, other: Schema): Record<string, unknown> {
  const fields: Record<string, unknown> = { ...(one["properties"] as object) };
  for (const [name, field] of Object.entries((other["properties"] ?? {}) as Record<string, Schema>))
    fields[name] = name in fields ? mergeFields(fields[name] as Schema, field) : field;
  const required = toList(one["required"]).filter((name) => toList(other["required"]).includes(name));
  return { ...one, properties: fields, ...(one["required"] !== undefined && { required }) };
}

function mergeArrays(one: Schema, other: Schema): Record<string, unknown> {
  const items = flatten({ anyOf: [one["items"], other["items"]].filter(isRecord) });
  const { minItems: _, maxItems: __, ...rest } = one;
  return { ...rest, ...(Object.keys(items).length > 0 && { items }) };
}

/** Merges two schemas of one field. */
function mergeFields(one: Schema, other: Schema): Record<string, unknown> {
  const [values, otherValues] = [listValues(one), listValues(other)];
  const { const: _, ...withoutConst } = one;
  if (values.length > 0 && otherValues.length > 0)
    return { ...withoutConst, enum: [...new Set([...values, ...otherValues])] };
  const { description, ...bare } = one;
  const { description: __, ...otherBare } = other;
  if (JSON.stringify(bare) === JSON.stringify(otherBare)) return { ...one };
  const variants = mergeVariants([...listVariants(bare), ...listVariants(otherBare)]);
  const different = [...new Map(variants.map((variant) => [JSON.stringify(variant), variant])).values()];
  return {
    ...(different.length === 1 ? different[0] : { anyOf: different }),
    ...(description !== undefined && { description }),
  };
}

function listVariants(schema: Schema): Record<string, unknown>[] {
  return Array.isArray(schema["anyOf"]) ? (schema["anyOf"] as Record<string, unknown>[]) : [{ ...schema }];
}

/** Lists the values of an `enum` or a `const`. */
function listValues(schema: Schema): readonly unknown[] {
  return "const" in schema ? [schema["const"]] : toList(schema["enum"]);
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
