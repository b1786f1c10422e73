import { type Hints, hintedString, useUp } from "./hints.js";
import { isObject, list, number, type Schema, satisfies } from "./json-schema.js";
import { asSchema, DEEPEST, flatten, merge } from "./merge-schemas.js";
import { stringLike } from "./pattern.js";

interface Place {
  /** Name of the property; an item has the name of its array. */
  readonly name: string;
  readonly depth: number;
  /** Position in an array, so that items differ. */
  readonly index: number;
}

/** Depth below which only required properties are made. */
const MODEST_DEPTH = 3;
const MOST_VALUES = 20_000;

/**
 * Makes a value that satisfies `schema`, from the prompt where it has one. The same input gives the same value. If no
 * candidate satisfies the schema, the first candidate is returned.
 */
export function sample(schema: unknown, hints: Hints): unknown {
  let values = 0;
  return valueFor(schema, { name: "", depth: 0, index: 0 });

  function valueFor(given: unknown, place: Place): unknown {
    const plain = flatten(given, schema);
    let nearest: unknown = null;
    let isFirst = true;
    if (++values > MOST_VALUES || place.depth > DEEPEST) return nearest;
    for (const candidate of candidates(plain, place)) {
      if (satisfies(given, candidate, schema)) {
        useUp(candidate, hints);
        return candidate;
      }
      if (isFirst) nearest = candidate;
      isFirst = false;
    }
    return nearest;
  }

  function* candidates(plain: Schema, place: Place): Generator<unknown> {
    if ("const" in plain) yield plain.const;
    const options = rotated(list(plain.enum), place.index);
    yield* options.filter((option) => isMentioned(option, hints.prompt));
    if (options.length === 0) yield* hinted(plain, place);
    if ("default" in plain) yield plain.default;
    yield* list(plain.examples);
    yield* options;
    for (const branch of branchesOf(plain, place.depth)) yield valueFor(merge(without(plain), branch), place);
    if (plain.if !== undefined) yield* conditional(plain, place);
    for (const type of typesOf(plain)) yield* made(type, plain, place);
  }

  function* hinted(plain: Schema, { name, index }: Place): Generator<unknown> {
    // a value with a format, or a later item, is made and not taken from the prompt
    if (plain.format !== undefined || index > 0) return;
    const [type] = typesOf(plain);
    const text = type === "string" ? hintedString(name, hints) : undefined;
    if (text !== undefined) yield text;
    if ((type === "number" || type === "integer") && hints.numbers.length > 0) yield hints.numbers[0];
  }

  function* conditional(plain: Schema, place: Place): Generator<unknown> {
    const { if: condition, then = true, else: otherwise = true, ...base } = plain;
    yield valueFor(merge(merge(base, condition), then), place);
    yield valueFor(merge(base, otherwise), place);
  }

  function* made(type: unknown, plain: Schema, place: Place): Generator<unknown> {
    if (type === "null") yield null;
    if (type === "boolean") yield* rotated([true, false], place.index);
    if (type === "integer" || type === "number") yield* numbers(plain, type === "integer", place.index);
    if (type === "string") yield* strings(plain, place);
    if (type === "array") yield* arrays(plain, place);
    if (type === "object") yield* objects(plain, place);
  }

  function* arrays(plain: Schema, { name, depth }: Place): Generator<unknown[]> {
    const tuple = list(plain.prefixItems ?? (Array.isArray(plain.items) ? plain.items : []));
    const rest = Array.isArray(plain.items) ? plain.additionalItems : plain.items;
    const least = number(plain.minItems, 0);
    const item = (index: number) => {
      const part = index < tuple.length ? tuple[index] : rest;
      const both = index === 0 && plain.contains !== undefined ? { allOf: [part, plain.contains] } : part;
      return valueFor(both, { name, depth: depth + 1, index });
    };
    const wanted =
      depth < MODEST_DEPTH || plain.contains !== undefined ? Math.max(least, tuple.length, 1) : least;
    const build = (length: number) => Array.from({ length }, (_, index) => item(index));
    yield build(Math.min(wanted, number(plain.maxItems, wanted), MOST_VALUES));
    yield build(Math.min(least, MOST_VALUES));
  }

  function* objects(plain: Schema, { depth }: Place): Generator<Schema> {
    const properties = asSchema(plain.properties);
    const required = list(plain.required).map(String);
    const all = [...new Set([...required, ...Object.keys(properties)])];
    const others = isObject(plain.additionalProperties) ? plain.additionalProperties : { type: "string" };
    const missing = number(plain.minProperties, 0);
    const build = (given: readonly string[]) => {
      const names = withDependents(given, plain);
      const extra = Math.max(0, Math.min(missing, MOST_VALUES) - names.length);
      const filled = [...names, ...Array.from({ length: extra }, (_, index) => `key${index + 1}`)];
      return Object.fromEntries(
        filled.map((name) => {
          const part = Object.hasOwn(properties, name) ? properties[name] : others;
          return [name, valueFor(part, { name, depth: depth + 1, index: 0 })];
        }),
      );
    };
    if (depth < MODEST_DEPTH) yield build(all);
    yield build(required);
    yield build(all);
  }
}

/** Adds the names that others need beside them. */
function withDependents(names: readonly string[], { dependencies, dependentRequired }: Schema): string[] {
  const needed: Schema = { ...asSchema(dependencies), ...asSchema(dependentRequired) };
  const all = new Set(names);
  // a set takes what is added while it is read
  for (const name of all) for (const other of list(needed[name])) all.add(String(other));
  return [...all];
}

function* numbers(plain: Schema, isInteger: boolean, index: number): Generator<number> {
  const { exclusiveMinimum, exclusiveMaximum, minimum, maximum, multipleOf } = plain;
  const low = Math.max(number(minimum, -Infinity), number(exclusiveMinimum, -Infinity));
  const high = Math.min(number(maximum, Infinity), number(exclusiveMaximum, Infinity));
  const steps = typeof multipleOf === "number" ? [multipleOf] : isInteger ? [1] : [1, 0.1];
  for (const step of steps) {
    // the number of steps nearest to 1: bounds may be as far away as the largest safe integer
    const start = Math.max(Math.ceil(low / step), Math.min(1, Math.floor(high / step)));
    for (let offset = 0; offset < 4; offset++) yield tidy((start + index + offset) * step);
    for (let offset = 0; offset < 4; offset++) yield tidy((start - index - offset) * step);
  }
  if (!isInteger && high < Infinity && low > -Infinity) yield (low + high) / 2;
}

/** Rounds away the error of binary fractions: 0.1 × 3 is 0.3. */
function tidy(value: number): number {
  return Number(value.toPrecision(15));
}

function* strings(plain: Schema, { name, index }: Place): Generator<string> {
  const { format, pattern, minLength, maxLength } = plain;
  const nth = index === 0 ? "" : ` ${index + 1}`;
  if (typeof pattern === "string")
    for (const extra of [0, 1, 2, 4, 8, 16, 32, 64]) yield stringLike(pattern, extra);
  if (typeof format === "string" && Object.hasOwn(formats, format)) yield formats[format]?.(index) ?? "";
  const words = `${name ? `example ${name.replaceAll("_", " ")}` : "example"}${nth}`;
  yield words;
  const least = Math.min(number(minLength, 0), 1_000_000);
  const long = `${nth.trim()}${words}`.padEnd(least, " and more").trimEnd().padEnd(least, ".");
  yield [...long].slice(0, number(maxLength, Infinity)).join("");
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

function without({ anyOf, oneOf, ...base }: Schema): Schema {
  return base;
}

/** Lists the alternatives, with `null` last; at a great depth with `null` first, so that recursion ends. */
function branchesOf(plain: Schema, depth: number): readonly unknown[] {
  const branches = [...list(plain.anyOf), ...list(plain.oneOf)];
  const rank = (branch: unknown) => {
    if (!isObject(branch)) return 1;
    if (branch.type === "null") return depth > MODEST_DEPTH ? 0 : 3;
    return depth > MODEST_DEPTH && (branch.$ref || branch.type === "object" || branch.type === "array")
      ? 2
      : 1;
  };
  return branches.toSorted((a, b) => rank(a) - rank(b));
}

function typesOf(plain: Schema): readonly unknown[] {
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

function rotated(options: readonly unknown[], by: number): unknown[] {
  const start = options.length > 0 ? by % options.length : 0;
  return [...options.slice(start), ...options.slice(0, start)];
}
