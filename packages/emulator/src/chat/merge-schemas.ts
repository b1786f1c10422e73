import { isEqual, isObject, resolveRef, type Schema, toList, toNumber } from "./json-schema.js";

/** Maximum depth of references and `allOf`. */
export const MAX_DEPTH = 12;

/** Resolves the reference of a schema and merges its `allOf`. */
export function flatten(given: unknown, root: unknown, depth = 0): Schema {
  if (!isObject(given) || depth > MAX_DEPTH) return {};
  const { $ref, allOf, ...own } = given;
  const parts = [...($ref === undefined ? [] : [resolveRef($ref, root)]), ...toList(allOf)];
  return parts.reduce<Schema>((whole, part) => merge(whole, flatten(part, root, depth + 1)), own);
}

/** Merges two schemas, as far as their keywords can be merged. */
export function merge(one: Schema, other: unknown): Schema {
  if (!isObject(other)) return one;
  const properties = { ...toSchema(one.properties) };
  for (const [name, part] of Object.entries(toSchema(other.properties)))
    properties[name] = name in properties ? { allOf: [properties[name], part] } : part;
  const options = Array.isArray(one.enum) ? one.enum : undefined;
  const merged: Record<string, unknown> = { ...one, ...other };
  if (one.type !== undefined && other.type !== undefined) merged.type = findCommonTypes(one.type, other.type);
  if (Object.keys(properties).length > 0) merged.properties = properties;
  for (const key of ["items", "additionalProperties", "additionalItems", "contains"])
    if (key in one && key in other) merged[key] = mergeParts(one[key], other[key]);
  for (const key of ["anyOf", "oneOf"])
    if (key in one && key in other)
      merged[key] = toList(one[key]).flatMap((left) =>
        toList(other[key]).map((right) => ({ allOf: [left, right] })),
      );
  if (one.required || other.required) merged.required = [...toList(one.required), ...toList(other.required)];
  if (options)
    merged.enum = options.filter((option) =>
      toList(other.enum ?? options).some((one) => isEqual(one, option)),
    );
  for (const key of ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"])
    if (key in one && key in other)
      merged[key] = Math.max(toNumber(one[key], -Infinity), toNumber(other[key], -Infinity));
  for (const key of ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"])
    if (key in one && key in other)
      merged[key] = Math.min(toNumber(one[key], Infinity), toNumber(other[key], Infinity));
  return merged;
}

/** Creates the schema of values that fit both schemas. Lists of schemas are merged item by item. */
function mergeParts(one: unknown, other: unknown): unknown {
  if (one === false || other === false) return false;
  if (!Array.isArray(one) && !Array.isArray(other)) return { allOf: [one, other] };
  const length = Math.max(toList(one).length, toList(other).length);
  const getItem = (schemas: unknown, index: number) =>
    Array.isArray(schemas) ? (schemas[index] ?? true) : schemas;
  return Array.from({ length }, (_, index) => ({ allOf: [getItem(one, index), getItem(other, index)] }));
}

function findCommonTypes(one: unknown, other: unknown): unknown[] {
  const left = [one].flat();
  const right = [other].flat();
  const isCovered = (type: unknown, types: unknown[]) =>
    types.includes(type) || (type === "integer" && types.includes("number"));
  return [...left.filter((type) => isCovered(type, right)), ...right.filter((type) => isCovered(type, left))];
}

export function toSchema(value: unknown): Schema {
  return isObject(value) ? value : {};
}
