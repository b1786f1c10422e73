import { isRecord } from "@sluice/core/extend";

/** A JSON Schema from a request: any keyword may be missing or have a wrong type. */
export type Schema = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 64;
const ROUNDING_ERROR = 1e-9;

/** Finds the schema of a local reference, `#/$defs/place`. Undefined for another reference. */
export function resolveRef(ref: unknown, root: unknown): unknown {
  if (typeof ref !== "string" || !ref.startsWith("#")) return undefined;
  let found = root;
  for (const step of ref.split("/").slice(1)) {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    found = typeof found === "object" && found !== null ? (found as Schema)[key] : undefined;
  }
  return found;
}

/**
 * Checks `value` by the keywords of `schema` that tools use. Ignores other keywords.
 *
 * @param root the whole schema, for references
 */
export function satisfies(schema: unknown, value: unknown, root: unknown, depth = 0): boolean {
  if (typeof schema === "boolean") return schema;
  if (!isRecord(schema) || depth > MAX_DEPTH) return true;
  const matchesPart = (part: unknown, target = value) => satisfies(part, target, root, depth + 1);
  const options = toList(schema.enum);
  return (
    (schema.$ref === undefined || matchesPart(resolveRef(schema.$ref, root))) &&
    (!("const" in schema) || isEqual(schema.const, value)) &&
    (options.length === 0 || options.some((option) => isEqual(option, value))) &&
    hasType(schema.type, value) &&
    toList(schema.allOf).every((part) => matchesPart(part)) &&
    (!schema.anyOf || toList(schema.anyOf).some((part) => matchesPart(part))) &&
    (!schema.oneOf || toList(schema.oneOf).filter((part) => matchesPart(part)).length === 1) &&
    (schema.not === undefined || !matchesPart(schema.not)) &&
    (schema.if === undefined || matchesPart((matchesPart(schema.if) ? schema.then : schema.else) ?? true)) &&
    (typeof value !== "number" || fitsNumber(schema, value)) &&
    (typeof value !== "string" || fitsString(schema, value)) &&
    (!Array.isArray(value) || fitsArray(schema, value, matchesPart)) &&
    (!isRecord(value) || fitsObject(schema, value, matchesPart))
  );
}

/** Checks a value by a part of the schema. */
type MatchesPart = (part: unknown, target?: unknown) => boolean;

function fitsNumber(schema: Schema, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const quotient = value / toNumber(multipleOf, 1);
  return (
    value >= toNumber(minimum, -Infinity) &&
    value <= toNumber(maximum, Infinity) &&
    (exclusiveMinimum !== true || value > toNumber(minimum, -Infinity)) &&
    (exclusiveMaximum !== true || value < toNumber(maximum, Infinity)) &&
    value > toNumber(exclusiveMinimum, -Infinity) &&
    value < toNumber(exclusiveMaximum, Infinity) &&
    (multipleOf === undefined || Math.abs(quotient - Math.round(quotient)) < ROUNDING_ERROR)
  );
}

/** Patterns of the formats that have one. */
const FORMATS: ReadonlyMap<unknown, string> = new Map([
  ["date", "^\\d{4}-\\d\\d-\\d\\d$"],
  ["time", "^\\d\\d:\\d\\d:\\d\\d"],
  ["date-time", "^\\d{4}-\\d\\d-\\d\\d[Tt]\\d\\d:\\d\\d:\\d\\d"],
  ["email", "^[^@\\s]+@[^@\\s]+$"],
  ["uri", "^[A-Za-z][\\w+.\\-]*:\\S+$"],
  ["url", "^[A-Za-z][\\w+.\\-]*:\\S+$"],
  ["uuid", "^[\\da-fA-F]{8}(?:-[\\da-fA-F]{4}){3}-[\\da-fA-F]{12}$"],
  ["ipv4", "^\\d{1,3}(?:\\.\\d{1,3}){3}$"],
]);

function fitsString({ minLength, maxLength, pattern, format }: Schema, value: string): boolean {
  const length = [...value].length;
  const isLongEnough = length >= toNumber(minLength, 0) && length <= toNumber(maxLength, Infinity);
  return isLongEnough && matches(pattern, value) && matches(FORMATS.get(format), value);
}

function fitsArray(schema: Schema, value: readonly unknown[], matchesPart: MatchesPart): boolean {
  // older drafts list the schemas of the first items in `items`
  const first = toList(schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : []));
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  return (
    value.length >= toNumber(schema.minItems, 0) &&
    value.length <= toNumber(schema.maxItems, Infinity) &&
    (schema.uniqueItems !== true ||
      new Set(value.map((item) => JSON.stringify(item))).size === value.length) &&
    (schema.contains === undefined || value.some((item) => matchesPart(schema.contains, item))) &&
    value.every((item, index) => matchesPart(index < first.length ? first[index] : (rest ?? true), item))
  );
}

function fitsObject(schema: Schema, value: Schema, matchesPart: MatchesPart): boolean {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const patterns = Object.entries(isRecord(schema.patternProperties) ? schema.patternProperties : {});
  // draft 7 has one keyword where later drafts have two
  const dependents = ["dependencies", "dependentRequired", "dependentSchemas"].flatMap((name) =>
    Object.entries(isRecord(schema[name]) ? schema[name] : {}),
  );
  const has = (name: unknown) => Object.hasOwn(value, String(name));
  const keys = Object.keys(value);
  return (
    toList(schema.required).every(has) &&
    dependents.every(
      ([name, others]) =>
        !has(name) || (Array.isArray(others) ? others.every(has) : matchesPart(others, value)),
    ) &&
    keys.length >= toNumber(schema.minProperties, 0) &&
    keys.length <= toNumber(schema.maxProperties, Infinity) &&
    keys.every((key) => {
      const matching = patterns.filter(([pattern]) => matches(pattern, key)).map(([, part]) => part);
      if (Object.hasOwn(properties, key)) matching.push(properties[key]);
      if (matching.length === 0) matching.push(schema.additionalProperties ?? true);
      return matching.every((part) => matchesPart(part, value[key]));
    })
  );
}

function hasType(type: unknown, value: unknown): boolean {
  if (type === undefined) return true;
  return [type].flat().some((name) => {
    if (name === "integer") return Number.isInteger(value);
    if (name === "array") return Array.isArray(value);
    if (name === "object") return isRecord(value);
    if (name === "null") return value === null;
    return typeof value === name;
  });
}

function matches(pattern: unknown, value: string): boolean {
  if (typeof pattern !== "string") return true;
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

/** Compares JSON values and ignores the order of their names. */
export function isEqual(left: unknown, right: unknown): boolean {
  return toCanonical(left) === toCanonical(right);
}

/** Formats a value as JSON with sorted names. */
function toCanonical(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    isRecord(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}

export function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function toNumber(value: unknown, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}
