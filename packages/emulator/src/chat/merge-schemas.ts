import { isObject, isSame, list, number, resolveRef, type Schema } from "./json-schema.js";

/** Deepest chain of references and `allOf` that is followed. */
export const DEEPEST = 12;

/** Resolves the reference of a schema and merges its `allOf`. */
export function flatten(given: unknown, root: unknown, depth = 0): Schema {
  if (!isObject(given) || depth > DEEPEST) return {};
  const { $ref, allOf, ...own } = given;
  const parts = [...($ref === undefined ? [] : [resolveRef($ref, root)]), ...list(allOf)];
  return parts.reduce<Schema>((whole, part) => merge(whole, flatten(part, root, depth + 1)), own);
}

/** Merges two schemas, as far as their keywords can be merged. */
export function merge(one: Schema, other: unknown): Schema {
  if (!isObject(other)) return one;
  const properties = { ...asSchema(one.properties) };
  for (const [name, part] of Object.entries(asSchema(other.properties)))
    properties[name] = name in properties ? { allOf: [properties[name], part] } : part;
  const options = Array.isArray(one.enum) ? one.enum : undefined;
  const joined: Record<string, unknown> = { ...one, ...other };
  if (one.type !== undefined && other.type !== undefined) joined.type = commonTypes(one.type, other.type);
  if (Object.keys(properties).length > 0) joined.properties = properties;
  for (const key of ["items", "additionalProperties", "additionalItems", "contains"])
    if (key in one && key in other) joined[key] = bothOf(one[key], other[key]);
  for (const key of ["anyOf", "oneOf"])
    if (key in one && key in other)
      joined[key] = list(one[key]).flatMap((left) =>
        list(other[key]).map((right) => ({ allOf: [left, right] })),
      );
  if (one.required || other.required) joined.required = [...list(one.required), ...list(other.required)];
  if (options)
    joined.enum = options.filter((option) => list(other.enum ?? options).some((one) => isSame(one, option)));
  for (const key of ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"])
    if (key in one && key in other)
      joined[key] = Math.max(number(one[key], -Infinity), number(other[key], -Infinity));
  for (const key of ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"])
    if (key in one && key in other)
      joined[key] = Math.min(number(one[key], Infinity), number(other[key], Infinity));
  return joined;
}

/** Makes the schema of values that fit both schemas; merges lists of schemas place by place. */
function bothOf(one: unknown, other: unknown): unknown {
  if (one === false || other === false) return false;
  if (!Array.isArray(one) && !Array.isArray(other)) return { allOf: [one, other] };
  const length = Math.max(list(one).length, list(other).length);
  const at = (schemas: unknown, index: number) =>
    Array.isArray(schemas) ? (schemas[index] ?? true) : schemas;
  return Array.from({ length }, (_, index) => ({ allOf: [at(one, index), at(other, index)] }));
}

function commonTypes(one: unknown, other: unknown): unknown[] {
  const left = [one].flat();
  const right = [other].flat();
  const narrows = (type: unknown, types: unknown[]) =>
    types.includes(type) || (type === "integer" && types.includes("number"));
  return [...left.filter((type) => narrows(type, right)), ...right.filter((type) => narrows(type, left))];
}

export function asSchema(value: unknown): Schema {
  return isObject(value) ? value : {};
}
