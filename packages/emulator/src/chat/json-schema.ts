/** A JSON Schema from a request: any keyword may be missing or have a wrong type. */
export type Schema = Readonly<Record<string, unknown>>;

const DEEPEST = 64;

export function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Finds the schema of a local reference (`#/$defs/place`); undefined if there is none. */
export function resolveRef(ref: unknown, root: unknown): unknown {
  if (typeof ref !== "string" || !ref.startsWith("#")) return undefined;
  let found = root;
  for (const step of ref.split("/").slice(1)) {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    found = typeof found === "object" && found !== null ? (found as Schema)[key] : undefined;
  }
  return found;
}

/** Checks `value` by the keywords of `schema` that tools use. Other keywords are taken as satisfied. */
export function satisfies(schema: unknown, value: unknown, root: unknown, depth = 0): boolean {
  if (typeof schema === "boolean") return schema;
  if (!isObject(schema) || depth > DEEPEST) return true;
  const holds = (part: unknown, of = value) => satisfies(part, of, root, depth + 1);
  return (
    (schema.$ref === undefined || holds(resolveRef(schema.$ref, root))) &&
    (!("const" in schema) || isSame(schema.const, value)) &&
    list(schema.enum).every(() => list(schema.enum).some((option) => isSame(option, value))) &&
    hasType(schema.type, value) &&
    list(schema.allOf).every((part) => holds(part)) &&
    (!schema.anyOf || list(schema.anyOf).some((part) => holds(part))) &&
    (!schema.oneOf || list(schema.oneOf).filter((part) => holds(part)).length === 1) &&
    (schema.not === undefined || !holds(schema.not)) &&
    (schema.if === undefined || holds((holds(schema.if) ? schema.then : schema.else) ?? true)) &&
    (typeof value !== "number" || fitsNumber(schema, value)) &&
    (typeof value !== "string" || fitsString(schema, value)) &&
    (!Array.isArray(value) || fitsArray(schema, value, holds)) &&
    (!isObject(value) || fitsObject(schema, value, holds))
  );
}

type Holds = (part: unknown, of?: unknown) => boolean;

function fitsNumber(schema: Schema, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const quotient = value / number(multipleOf, 1);
  return (
    value >= number(minimum, -Infinity) &&
    value <= number(maximum, Infinity) &&
    (exclusiveMinimum !== true || value > number(minimum, -Infinity)) &&
    (exclusiveMaximum !== true || value < number(maximum, Infinity)) &&
    value > number(exclusiveMinimum, -Infinity) &&
    value < number(exclusiveMaximum, Infinity) &&
    (multipleOf === undefined || Math.abs(quotient - Math.round(quotient)) < 1e-9)
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
  const isLongEnough = length >= number(minLength, 0) && length <= number(maxLength, Infinity);
  return isLongEnough && matches(pattern, value) && matches(FORMATS.get(format), value);
}

function fitsArray(schema: Schema, value: readonly unknown[], holds: Holds): boolean {
  const first = list(schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : []));
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  return (
    value.length >= number(schema.minItems, 0) &&
    value.length <= number(schema.maxItems, Infinity) &&
    (schema.uniqueItems !== true ||
      new Set(value.map((item) => JSON.stringify(item))).size === value.length) &&
    (schema.contains === undefined || value.some((item) => holds(schema.contains, item))) &&
    value.every((item, index) => holds(index < first.length ? first[index] : (rest ?? true), item))
  );
}

function fitsObject(schema: Schema, value: Schema, holds: Holds): boolean {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const patterns = Object.entries(isObject(schema.patternProperties) ? schema.patternProperties : {});
  // draft 7 has one keyword for what later drafts divide
  const dependents = ["dependencies", "dependentRequired", "dependentSchemas"].flatMap((name) =>
    Object.entries(isObject(schema[name]) ? schema[name] : {}),
  );
  const has = (name: unknown) => Object.hasOwn(value, String(name));
  const keys = Object.keys(value);
  return (
    list(schema.required).every(has) &&
    dependents.every(
      ([name, others]) => !has(name) || (Array.isArray(others) ? others.every(has) : holds(others, value)),
    ) &&
    keys.length >= number(schema.minProperties, 0) &&
    keys.length <= number(schema.maxProperties, Infinity) &&
    keys.every((key) => {
      const matching = patterns.filter(([pattern]) => matches(pattern, key)).map(([, part]) => part);
      if (Object.hasOwn(properties, key)) matching.push(properties[key]);
      if (matching.length === 0) matching.push(schema.additionalProperties ?? true);
      return matching.every((part) => holds(part, value[key]));
    })
  );
}

function hasType(type: unknown, value: unknown): boolean {
  if (type === undefined) return true;
  return [type].flat().some((name) => {
    if (name === "integer") return Number.isInteger(value);
    if (name === "array") return Array.isArray(value);
    if (name === "object") return isObject(value);
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

/** Compares JSON values, whatever the order of their names. */
export function isSame(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}

/** Returns `value` if it is an array, else an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns `value` if it is a number, else `otherwise`. */
export function number(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}
