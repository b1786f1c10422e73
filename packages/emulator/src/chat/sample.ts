import { isRecord } from "@sluice/core/extend";
import { findString, type Hints, removeUsed } from "./hints.js";
import { generateMatch } from "./pattern.js";

/** A JSON Schema from a request: any keyword may be missing or have a wrong type. */
export type Schema = Readonly<Record<string, unknown>>;

interface Location {
  /** Name of the property. An item has the name of its array. */
  readonly name: string;
  readonly depth: number;
  /** Position in an array, so that items differ. */
  readonly index: number;
}

/** Below this depth, only required properties are created. */
const MODEST_DEPTH = 3;
const MAX_DEPTH = 12;
const MAX_VALUES = 20_000;

/**
 * Creates a value for `schema`, with values from the prompt where they fit. The same input gives the same value. Reads the
 * keywords that libraries write for the tools of an app. Of `anyOf` and `oneOf`, the first alternative is used.
 */
export function sample(root: unknown, hints: Hints): unknown {
  let values = 0;
  return createValue(root, { name: "", depth: 0, index: 0 });

  function createValue(given: unknown, place: Location): unknown {
    const schema = flatten(given, root);
    if (++values > MAX_VALUES || place.depth > MAX_DEPTH) return null;
    const fitting = listGiven(schema, place, hints).find((candidate) => fits(schema, candidate));
    if (fitting !== undefined) {
      removeUsed(fitting, hints);
      return fitting;
    }
    const { anyOf, oneOf, ...base } = schema;
    const branch = pickBranch([...toList(anyOf), ...toList(oneOf)], place.depth);
    if (branch !== undefined) return createValue({ allOf: [base, branch] }, place);
    return createTyped(listTypes(schema)[0], schema, place);
  }

  function createTyped(type: unknown, schema: Schema, place: Location): unknown {
    if (type === "object") return createObject(schema, place.depth);
    if (type === "array") return createArray(schema, place);
    if (type === "boolean") return place.index % 2 === 0;
    if (type === "string") return findFitting(schema, listStrings(schema, place));
    if (type === "null") return null;
    return findFitting(schema, listNumbers(schema, type === "integer", place.index));
  }

  function createArray({ items, prefixItems, minItems, maxItems }: Schema, { name, depth }: Location) {
    const tuple = toList(prefixItems);
    const least = toNumber(minItems, 0);
    const wanted = depth < MODEST_DEPTH ? Math.max(least, tuple.length, 1) : least;
    const length = Math.min(wanted, toNumber(maxItems, wanted), MAX_VALUES);
    return Array.from({ length }, (_, index) =>
      createValue(tuple[index] ?? items, { name, depth: depth + 1, index }),
    );
  }

  function createObject({ properties, required, additionalProperties }: Schema, depth: number) {
    const known = isRecord(properties) ? properties : {};
    const others = isRecord(additionalProperties) ? additionalProperties : { type: "string" };
    const names = [...toList(required).map(String), ...(depth < MODEST_DEPTH ? Object.keys(known) : [])];
    return Object.fromEntries(
      [...new Set(names)].map((name) => {
        const part = Object.hasOwn(known, name) ? known[name] : others;
        return [name, createValue(part, { name, depth: depth + 1, index: 0 })];
      }),
    );
  }
}

/** Resolves the reference of a schema and merges its `allOf`. Of a keyword in several parts, the last one counts. */
function flatten(given: unknown, root: unknown, depth = 0): Schema {
  if (!isRecord(given) || depth > MAX_DEPTH) return {};
  const { $ref, allOf, ...own } = given;
  const parts = [resolveRef($ref, root), ...toList(allOf)].map((part) => flatten(part, root, depth + 1));
  return parts.reduce<Schema>(merge, own);
}

function merge(one: Schema, other: Schema): Schema {
  const properties: Record<string, unknown> = isRecord(one["properties"]) ? { ...one["properties"] } : {};
  for (const [name, part] of Object.entries(isRecord(other["properties"]) ? other["properties"] : {}))
    properties[name] = name in properties ? { allOf: [properties[name], part] } : part;
  const required = [...toList(one["required"]), ...toList(other["required"])];
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  };
}

/** Finds the schema of a local reference (`#/$defs/place`), or returns undefined. */
function resolveRef(ref: unknown, root: unknown): unknown {
  if (typeof ref !== "string" || !ref.startsWith("#")) return undefined;
  return ref
    .split("/")
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>((found, key) => Object(found)[key], root);
}

/** Lists the values that the schema or the prompt gives. */
function listGiven(schema: Schema, { name, index }: Location, hints: Hints): readonly unknown[] {
  const options = toList(schema["enum"]);
  const start = options.length > 0 ? index % options.length : 0;
  const rotated = [...options.slice(start), ...options.slice(0, start)];
  const [type] = listTypes(schema);
  // the prompt gives no value with a format, and no later item of a list
  const isHinted = options.length === 0 && schema["format"] === undefined && index === 0;
  const isNumber = type === "number" || type === "integer";
  const hint = type === "string" ? findString(name, hints) : isNumber ? hints.numbers[0] : undefined;
  return [
    ...("const" in schema ? [schema["const"]] : []),
    ...rotated.filter((option) => isMentioned(option, hints.prompt)),
    ...(isHinted && hint !== undefined ? [hint] : []),
    ...("default" in schema ? [schema["default"]] : []),
    ...toList(schema["examples"]),
    ...rotated,
  ];
}

function findFitting(schema: Schema, candidates: Iterable<unknown>): unknown {
  const all = [...candidates];
  return all.find((candidate) => fits(schema, candidate)) ?? all[0];
}

/** Checks the type of a value, the bounds of a number, and the length and the pattern of a string. */
function fits(schema: Schema, value: unknown): boolean {
  const types = schema["type"] === undefined ? [] : [schema["type"]].flat();
  if (types.length > 0 && !types.some((type) => hasType(type, value))) return false;
  if (typeof value === "number") return fitsNumber(schema, value);
  return typeof value !== "string" || fitsString(schema, value);
}

function hasType(type: unknown, value: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isRecord(value);
  return type === "null" ? value === null : typeof value === type;
}

function fitsNumber(schema: Schema, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const quotient = value / toNumber(multipleOf, 1);
  return (
    value >= toNumber(minimum, -Infinity) &&
    value <= toNumber(maximum, Infinity) &&
    value > toNumber(exclusiveMinimum, -Infinity) &&
    value < toNumber(exclusiveMaximum, Infinity) &&
    (multipleOf === undefined || Math.abs(quotient - Math.round(quotient)) < 1e-9)
  );
}

function fitsString({ minLength, maxLength, pattern }: Schema, value: string): boolean {
  const { length } = [...value];
  if (length < toNumber(minLength, 0) || length > toNumber(maxLength, Infinity)) return false;
  try {
    return typeof pattern !== "string" || new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

function* listNumbers(plain: Schema, isInteger: boolean, index: number): Generator<number> {
  const { exclusiveMinimum, exclusiveMaximum, minimum, maximum, multipleOf } = plain;
  const low = Math.max(toNumber(minimum, -Infinity), toNumber(exclusiveMinimum, -Infinity));
  const high = Math.min(toNumber(maximum, Infinity), toNumber(exclusiveMaximum, Infinity));
  const steps = typeof multipleOf === "number" ? [multipleOf] : isInteger ? [1] : [1, 0.1];
  for (const step of steps) {
    // start at the step nearest to 1: bounds may be as large as the largest safe integer
    const start = Math.max(Math.ceil(low / step), Math.min(1, Math.floor(high / step)));
    for (let offset = 0; offset < 4; offset++) yield round((start + index + offset) * step);
    for (let offset = 0; offset < 4; offset++) yield round((start - index - offset) * step);
  }
  if (!isInteger && high < Infinity && low > -Infinity) yield (low + high) / 2;
}

/** Removes the rounding error of binary fractions: 0.1 × 3 becomes 0.3. */
function round(value: number): number {
  return Number(value.toPrecision(15));
}

function* listStrings(plain: Schema, { name, index }: Location): Generator<string> {
  const { format, pattern, minLength, maxLength } = plain;
  const nth = index === 0 ? "" : ` ${index + 1}`;
  if (typeof pattern === "string")
    for (const extra of [0, 1, 2, 4, 8, 16, 32, 64]) yield generateMatch(pattern, extra);
  if (typeof format === "string" && Object.hasOwn(formats, format)) yield formats[format]?.(index) ?? "";
  const words = `${name ? `example ${name.replaceAll("_", " ")}` : "example"}${nth}`;
  yield words;
  const least = Math.min(toNumber(minLength, 0), 1_000_000);
  const long = `${nth.trim()}${words}`.padEnd(least, " and more").trimEnd().padEnd(least, ".");
  yield [...long].slice(0, toNumber(maxLength, Infinity)).join("");
}

const formats: Readonly<Record<string, (index: number) => string>> = {
  date: (index) => `2026-03-${String((index % 28) + 1).padStart(2, "0")}`,
  time: (index) => `09:${String(index % 60).padStart(2, "0")}:00Z`,
  "date-time": (index) => `2026-03-14T09:${String(index % 60).padStart(2, "0")}:00Z`,
  duration: (index) => `PT${index + 1}H`,
  email: (index) => `person${index + 1}@example.com`,
  "idn-email": (index) => `person${index + 1}@example.com`,
  hostname: (index) => `host${index + 1}.example.com`,
  uri: (index) => `https://example.com/${index + 1}`,
  url: (index) => `https://example.com/${index + 1}`,
  "uri-reference": (index) => `/${index + 1}`,
  iri: (index) => `https://example.com/${index + 1}`,
  uuid: (index) => `00000000-0000-4000-8000-${String(index + 1).padStart(12, "0")}`,
  ipv4: (index) => `192.0.2.${(index % 254) + 1}`,
  ipv6: (index) => `2001:db8::${((index % 65_535) + 1).toString(16)}`,
  "json-pointer": (index) => `/${index}`,
  regex: () => "^.*$",
};

/** Picks an alternative: `null` is the last choice, but at a great depth the first, so that recursion ends. */
function pickBranch(branches: readonly unknown[], depth: number): unknown {
  const isNull = (branch: unknown) => isRecord(branch) && branch["type"] === "null";
  const isDeep = depth > MODEST_DEPTH;
  return branches.find((branch) => isNull(branch) === isDeep) ?? branches[0];
}

function listTypes(plain: Schema): readonly unknown[] {
  if (plain.type !== undefined) return [plain.type].flat();
  if (plain.properties || plain.required || plain.additionalProperties || plain.minProperties)
    return ["object"];
  if (plain.items || plain.prefixItems || plain.minItems || plain.contains) return ["array"];
  if (
    ["minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"].some((key) => key in plain)
  )
    return ["number"];
  return ["string", "number", "boolean", "object", "array", "null"];
}

function isMentioned(option: unknown, prompt: string): boolean {
  if (typeof option !== "string" || option === "") return false;
  const literal = option.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, "iu").test(prompt);
}

/** Returns `value` if it is an array, else an empty array. */
function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns `value` if it is a number, else `otherwise`. */
function toNumber(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}
