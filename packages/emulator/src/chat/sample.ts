import { isRecord } from "@sluice/core/extend";
import { findString, type Hints, removeUsed } from "./hints.js";
import { type Schema, satisfies, toList, toNumber } from "./json-schema.js";
import { flatten, MAX_DEPTH, merge, toSchema } from "./merge-schemas.js";
import { generateMatch } from "./pattern.js";

/** Location of a value in the sample. */
interface Location {
  /** Name of the property. An item has the name of its array. */
  readonly name: string;
  readonly depth: number;
  /** Index in the array, so that its items differ. Otherwise 0. */
  readonly index: number;
}

/** At this depth and below, only required properties and items are created. */
const DEEP = 3;
/** Maximum number of values in a sample. Further values are null. */
const MAX_VALUES = 20_000;

/**
 * Creates a value that satisfies `schema`, with values from the prompt where they fit. The same input gives the same
 * value. If no candidate satisfies the schema, returns the first candidate.
 */
export function sample(schema: unknown, hints: Hints): unknown {
  let values = 0;
  return createValue(schema, { name: "", depth: 0, index: 0 });

  function createValue(given: unknown, location: Location): unknown {
    const plain = flatten(given, schema);
    let first: unknown;
    if (++values > MAX_VALUES || location.depth > MAX_DEPTH) return null;
    for (const candidate of listCandidates(plain, location)) {
      if (satisfies(given, candidate, schema)) {
        removeUsed(candidate, hints);
        return candidate;
      }
      if (first === undefined) first = candidate;
    }
    return first ?? null;
  }

  function* listCandidates(plain: Schema, location: Location): Generator<unknown> {
    if ("const" in plain) yield plain.const;
    const options = rotate(toList(plain.enum), location.index);
    yield* options.filter((option) => isMentioned(option, hints.prompt));
    if (options.length === 0) yield* listHinted(plain, location);
    if ("default" in plain) yield plain.default;
    yield* toList(plain.examples);
    yield* options;
    for (const branch of listAlternatives(plain, location.depth))
      yield createValue(merge(omitAlternatives(plain), branch), location);
    if (plain.if !== undefined) yield* listConditional(plain, location);
    for (const type of listTypes(plain)) yield* listOfType(type, plain, location);
  }

  function* listHinted(plain: Schema, { name, index }: Location): Generator<unknown> {
    // a word of the prompt rarely has a format, and must not fill every item
    if (plain.format !== undefined || index > 0) return;
    const [type] = listTypes(plain);
    const text = type === "string" ? findString(name, hints) : undefined;
    if (text !== undefined) yield text;
    if ((type === "number" || type === "integer") && hints.numbers.length > 0) yield hints.numbers[0];
  }

  function* listConditional(plain: Schema, location: Location): Generator<unknown> {
    const { if: condition, then = true, else: otherwise = true, ...base } = plain;
    yield createValue(merge(merge(base, condition), then), location);
    yield createValue(merge(base, otherwise), location);
  }

  function* listOfType(type: unknown, plain: Schema, location: Location): Generator<unknown> {
    if (type === "null") yield null;
    if (type === "boolean") yield* rotate([true, false], location.index);
    if (type === "integer" || type === "number")
      yield* listNumbers(plain, type === "integer", location.index);
    if (type === "string") yield* listStrings(plain, location);
    if (type === "array") yield* listArrays(plain, location);
    if (type === "object") yield* listObjects(plain, location);
  }

  function* listArrays(plain: Schema, { name, depth }: Location): Generator<unknown[]> {
    const tuple = toList(plain.prefixItems ?? (Array.isArray(plain.items) ? plain.items : []));
    const rest = Array.isArray(plain.items) ? plain.additionalItems : plain.items;
    const minItems = toNumber(plain.minItems, 0);
    const createItem = (index: number) => {
      const part = index < tuple.length ? tuple[index] : rest;
      const both = index === 0 && plain.contains !== undefined ? { allOf: [part, plain.contains] } : part;
      return createValue(both, { name, depth: depth + 1, index });
    };
    const isFull = depth < DEEP || plain.contains !== undefined;
    const wanted = isFull ? Math.max(minItems, tuple.length, 1) : minItems;
    const createArray = (length: number) => Array.from({ length }, (_, index) => createItem(index));
    yield createArray(Math.min(wanted, toNumber(plain.maxItems, wanted), MAX_VALUES));
    yield createArray(Math.min(minItems, MAX_VALUES));
  }

  function* listObjects(plain: Schema, { depth }: Location): Generator<Schema> {
    const properties = toSchema(plain.properties);
    const required = toList(plain.required).map(String);
    const all = [...new Set([...required, ...Object.keys(properties)])];
    const others = isRecord(plain.additionalProperties) ? plain.additionalProperties : { type: "string" };
    const missing = toNumber(plain.minProperties, 0);
    const createObject = (wanted: readonly string[]) => {
      const names = addDependents(wanted, plain);
      const extra = Math.max(0, Math.min(missing, MAX_VALUES) - names.length);
      const filled = [...names, ...Array.from({ length: extra }, (_, index) => `key${index + 1}`)];
      return Object.fromEntries(
        filled.map((name) => {
          const part = Object.hasOwn(properties, name) ? properties[name] : others;
          return [name, createValue(part, { name, depth: depth + 1, index: 0 })];
        }),
      );
    };
    if (depth < DEEP) yield createObject(all);
    yield createObject(required);
    yield createObject(all);
  }
}

/** Adds the names that other names require. */
function addDependents(names: readonly string[], { dependencies, dependentRequired }: Schema): string[] {
  const needed: Schema = { ...toSchema(dependencies), ...toSchema(dependentRequired) };
  const all = new Set(names);
  // the loop also visits names that it adds
  for (const name of all) for (const other of toList(needed[name])) all.add(String(other));
  return [...all];
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
  const suffix = index === 0 ? "" : ` ${index + 1}`;
  if (typeof pattern === "string")
    for (const extra of [0, 1, 2, 4, 8, 16, 32, 64]) yield generateMatch(pattern, extra);
  if (typeof format === "string" && Object.hasOwn(formats, format)) yield formats[format]?.(index) ?? "";
  const words = `${name ? `example ${name.replaceAll("_", " ")}` : "example"}${suffix}`;
  yield words;
  const minimum = Math.min(toNumber(minLength, 0), 1_000_000);
  const long = `${suffix.trim()}${words}`.padEnd(minimum, " and more").trimEnd().padEnd(minimum, ".");
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

function omitAlternatives({ anyOf, oneOf, ...base }: Schema): Schema {
  return base;
}

/** Lists the alternatives with `null` last. Deep in the sample, `null` comes first, so that recursion ends. */
function listAlternatives(plain: Schema, depth: number): readonly unknown[] {
  const branches = [...toList(plain.anyOf), ...toList(plain.oneOf)];
  const isDeep = depth > DEEP;
  const getRank = (branch: unknown) => {
    if (!isRecord(branch)) return 1;
    if (branch.type === "null") return isDeep ? 0 : 3;
    const isNested = branch.$ref || branch.type === "object" || branch.type === "array";
    return isDeep && isNested ? 2 : 1;
  };
  return branches.toSorted((a, b) => getRank(a) - getRank(b));
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

/** Checks if a prompt contains the option as a whole word. */
function isMentioned(option: unknown, prompt: string): boolean {
  if (typeof option !== "string" || option === "") return false;
  const literal = option.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, "iu").test(prompt);
}

/** Returns the options from index `by` on, then those before it. */
function rotate(options: readonly unknown[], by: number): unknown[] {
  const start = options.length > 0 ? by % options.length : 0;
  return [...options.slice(start), ...options.slice(0, start)];
}
