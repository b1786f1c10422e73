import { isRecord } from "@sluice/core/extend";
import { isEqual, resolveRef, type Schema, toList, toNumber } from "./json-schema.js";

/** Maximum depth of references and `allOf`. */
export const MAX_DEPTH = 12;

const LOWER_BOUNDS = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER_BOUNDS = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];

/** Resolves the reference of a schema and merges its `allOf`. */
export function flatten(given: unknown, root: unknown, depth = 0): Schema {
  if (!isRecord(given) || depth > MAX_DEPTH) return {};
  const { $ref, allOf, ...own } = given;
  const parts = [...($ref === undefined ? [] : [resolveRef($ref, root)]), ...toList(allOf)];
  return parts.reduce<Schema>((whole, part) => merge(whole, flatten(part, root, depth + 1)), own);
}

/** Creates the schema of values that fit both schemas, as far as their keywords can be merged. */
export function merge(left: Schema, right: unknown): Schema {
  if (!isRecord(right)) return left;
  const merged: Record<string, unknown> = { ...left, ...right };
  const properties = { ...toSchema(left.properties) };
  for (const [name, part] of Object.entries(toSchema(right.properties)))
    properties[name] = name in properties ? { allOf: [properties[name], part] } : part;
  if (Object.keys(properties).length > 0) merged.properties = properties;
  if (left.type !== undefined && right.type !== undefined)
    merged.type = findCommonTypes(left.type, right.type);
  if (left.required || right.required)
    merged.required = [...toList(left.required), ...toList(right.required)];
  if (Array.isArray(left.enum)) {
    const options = toList(right.enum ?? left.enum);
    merged.enum = left.enum.filter((option) => options.some((other) => isEqual(other, option)));
  }
  const both = Object.keys(left).filter((key) => key in right);
  for (const key of both) {
    const [one, other] = [left[key], right[key]];
    if (["items", "additionalProperties", "additionalItems", "contains"].includes(key))
      merged[key] = mergeParts(one, other);
    if (["anyOf", "oneOf"].includes(key))
      merged[key] = toList(one).flatMap((part) => toList(other).map((also) => ({ allOf: [part, also] })));
    if (LOWER_BOUNDS.includes(key))
      merged[key] = Math.max(toNumber(one, -Infinity), toNumber(other, -Infinity));
    if (UPPER_BOUNDS.includes(key))
      merged[key] = Math.min(toNumber(one, Infinity), toNumber(other, Infinity));
  }
  return merged;
}

/** Merges two schemas, or two lists of schemas item by item. */
function mergeParts(left: unknown, right: unknown): unknown {
  if (left === false || right === false) return false;
  if (!Array.isArray(left) && !Array.isArray(right)) return { allOf: [left, right] };
  const length = Math.max(toList(left).length, toList(right).length);
  const getItem = (schemas: unknown, index: number) =>
    Array.isArray(schemas) ? (schemas[index] ?? true) : schemas;
  return Array.from({ length }, (_, index) => ({ allOf: [getItem(left, index), getItem(right, index)] }));
}

function findCommonTypes(left: unknown, right: unknown): unknown[] {
  const [lefts, rights] = [[left].flat(), [right].flat()];
  const isCovered = (type: unknown, types: unknown[]) =>
    types.includes(type) || (type === "integer" && types.includes("number"));
  return [
    ...lefts.filter((type) => isCovered(type, rights)),
    ...rights.filter((type) => isCovered(type, lefts)),
  ];
}

export function toSchema(value: unknown): Schema {
  return isRecord(value) ? value : {};
}
