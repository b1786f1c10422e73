import fc from "fast-check";

/** A JSON Schema (draft 7), as clients write it. */
export type AnySchema = Readonly<Record<string, unknown>> | boolean;

/** Texts, each with a schema that it matches. */
const texts: readonly (readonly [text: string, schema: Readonly<Record<string, unknown>>])[] = [
  ["ABC-12", { pattern: "^[A-Z]{3}-\\d{2,4}$" }],
  ["mid", { pattern: "^(low|mid|high)$" }],
  ["+15551234", { pattern: "^\\+?[1-9]\\d{6,14}$" }],
  ["2026-03-14", { format: "date" }],
  ["2026-03-14T09:00:00Z", { format: "date-time" }],
  ["ada@example.com", { format: "email" }],
  ["https://example.com/1", { format: "uri" }],
  ["00000000-0000-4000-8000-000000000001", { format: "uuid" }],
  ["192.0.2.1", { format: "ipv4" }],
];
const types = ["object", "array", "string", "number", "boolean", "null"] as const;

/**
 * Generates schemas that some value satisfies: each is built from an example value. References point to
 * `#/definitions/…`.
 *
 * @param isObject true if the example value, and so what the schema describes, has to be an object
 */
export function createAnySchema(isObject: boolean): fc.Arbitrary<AnySchema> {
  const value = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      fc.oneof(
        fc.constantFrom("", "a", "Tea for two", ...texts.map(([text]) => text)),
        fc.integer({ min: -50, max: 5000 }),
        fc.integer({ min: -300, max: 300 }).map((tenths) => tenths / 10),
        fc.boolean(),
        fc.constant(null),
      ),
      fc.array(tie("value"), { maxLength: 4 }),
      createObject(tie("value")),
    ),
  })).value;
  return fc.tuple(isObject ? createObject(value) : value, fc.gen()).map(([example, gen]) => {
    const definitions: Record<string, AnySchema> = {};
    const { createSchema } = createMakers(gen, definitions);
    const schema = createSchema(example);
    if (typeof schema === "boolean" || Object.keys(definitions).length === 0) return schema;
    return "$ref" in schema ? { allOf: [schema], definitions } : { ...schema, definitions };
  });
}

function createObject(value: fc.Arbitrary<unknown>): fc.Arbitrary<Record<string, unknown>> {
  const name = fc.constantFrom("city", "days", "note", "x_tag", "x_rank", "is open", "größe");
  return fc.dictionary(name, value, { maxKeys: 5, noNullPrototype: true });
}

/** Creates schemas that fit a given value. `gen` makes the random choices; referenced schemas go into `definitions`. */
function createMakers(gen: fc.GeneratorValue, definitions: Record<string, AnySchema>) {
  /** Picks a whole number from 0 to `max`, both included. */
  const pickUpTo = (max: number) => gen(fc.nat, { max });
  /** Returns true once in `count` calls, on average. */
  const isOneIn = (count: number) => pickUpTo(count - 1) === 0;
  return { createSchema };

  function createSchema(value: unknown): AnySchema {
    if (isOneIn(41)) return true;
    const schema = isOneIn(9) ? { ...createPlain(value), ...compose(value) } : createPlain(value);
    if (!isOneIn(11)) return schema;
    const name = `part${Object.keys(definitions).length}`;
    definitions[name] = schema;
    return { $ref: `#/definitions/${name}` };
  }

  function createPlain(value: unknown): Readonly<Record<string, unknown>> {
    if (isOneIn(26)) return { const: value };
    if (isOneIn(16)) return { enum: isOneIn(3) ? [value, "another"] : ["one", "other", value] };
    if (typeof value === "string") return createTextSchema(value);
    if (typeof value === "number") return createNumberSchema(value);
    if (Array.isArray(value)) return createListSchema(value);
    if (typeof value === "object" && value !== null)
      return createObjectSchema(value as Record<string, unknown>);
    const type = value === null ? "null" : "boolean";
    return { type: isOneIn(5) ? [type, "string"] : type };
  }

  function createTextSchema(text: string) {
    const known = texts.find(([sample]) => sample === text);
    if (known) return { type: "string", ...known[1] };
    const { length } = [...text];
    return {
      type: "string",
      ...(isOneIn(3) && { minLength: Math.max(0, length - pickUpTo(2)) }),
      ...(isOneIn(3) && { maxLength: length + pickUpTo(40) }),
    };
  }

  function createNumberSchema(number: number) {
    const isWhole = Number.isInteger(number);
    const reach = () => (isWhole ? 1 : 0.1) * pickUpTo(8);
    const far = Number.MAX_SAFE_INTEGER;
    const from = isOneIn(5) ? -far : number - reach();
    const to = isOneIn(5) ? far : number + reach();
    return {
      type: isWhole && !isOneIn(4) ? "integer" : "number",
      ...(isOneIn(3) && (isOneIn(5) ? { exclusiveMinimum: from - 1 } : { minimum: from })),
      ...(isOneIn(3) && (isOneIn(5) ? { exclusiveMaximum: to + 1 } : { maximum: to })),
      ...(isOneIn(6) && number !== 0 && { multipleOf: isWhole && number % 5 === 0 ? 5 : isWhole ? 1 : 0.1 }),
    };
  }

  function createListSchema(list: readonly unknown[]) {
    const { length } = list;
    const isTuple = length > 0 && isOneIn(5);
    const first = list[0];
    return {
      type: "array",
      ...(isTuple && { items: list.map(createSchema), ...(isOneIn(3) && { additionalItems: false }) }),
      // items of one kind: a schema that all of them fit
      ...(!isTuple && length > 0 && { items: { anyOf: list.map(createSchema) } }),
      ...(isOneIn(3) && { minItems: Math.max(0, length - pickUpTo(1)) }),
      ...(isOneIn(3) && { maxItems: length + pickUpTo(3) }),
      ...(length > 0 && isOneIn(7) && { contains: createSchema(first) }),
      ...(length <= 1 && isOneIn(4) && { uniqueItems: true }),
    };
  }

  function createObjectSchema(object: Readonly<Record<string, unknown>>) {
    const names = Object.keys(object);
    const described = names.filter((name) => !(name.startsWith("x_") && isOneIn(3)));
    const [first, other] = names;
    return {
      type: "object",
      properties: Object.fromEntries(described.map((name) => [name, createSchema(object[name])])),
      ...(names.length > 0 && !isOneIn(5) && { required: names.filter(() => !isOneIn(4)) }),
      ...(described.length === names.length && isOneIn(3) && { additionalProperties: false }),
      ...(isOneIn(6) && { minProperties: names.length }),
      ...(isOneIn(6) && { maxProperties: names.length + pickUpTo(2) }),
      ...(isOneIn(7) && { patternProperties: { "^y_": { type: "integer" } } }),
      ...(first && other && isOneIn(6) && { dependencies: { [first]: [other] } }),
    };
  }

  /** A keyword that restricts a matching value further, or that offers other shapes. */
  function compose(value: unknown): Readonly<Record<string, unknown>> {
    const foreign = types.find((type) => type !== findType(value) && !isOneIn(3)) ?? "null";
    const other = foreign === findType(value) ? { type: "object", required: ["never"] } : { type: foreign };
    const made: readonly (() => Readonly<Record<string, unknown>>)[] = [
      () => ({ allOf: [{ description: "A part" }, true] }),
      () => ({ anyOf: [createSchema(value), other] }),
      () => ({ oneOf: [{ type: findType(value) }, other] }),
      () => ({ not: { const: "never" } }),
      () => Object.fromEntries(["if", "then", "else"].map((key) => [key, { type: findType(value) }])),
    ];
    return made[pickUpTo(made.length - 1)]?.() ?? {};
  }
}

function findType(value: unknown): (typeof types)[number] {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as (typeof types)[number]);
}
