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
 * Schemas that can be satisfied: each is made around a value that fits it. Names of places are `#/definitions/…` of the
 * whole schema, which is an object where `isObject` is true.
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

/** Makes schemas that a value fits, by the choices of `gen`. Some go into `definitions`. */
function createMakers(gen: fc.GeneratorValue, definitions: Record<string, AnySchema>) {
  const pickBelow = (max: number) => gen(fc.nat, { max });
  const isRare = (one: number) => pickBelow(one) === 0;
  return { createSchema };

  function createSchema(value: unknown): AnySchema {
    if (isRare(40)) return true;
    const schema = isRare(8) ? { ...createPlain(value), ...compose(value) } : createPlain(value);
    if (!isRare(10)) return schema;
    const name = `part${Object.keys(definitions).length}`;
    definitions[name] = schema;
    return { $ref: `#/definitions/${name}` };
  }

  function createPlain(value: unknown): Readonly<Record<string, unknown>> {
    if (isRare(25)) return { const: value };
    if (isRare(15)) return { enum: isRare(2) ? [value, "another"] : ["one", "other", value] };
    if (typeof value === "string") return createTextSchema(value);
    if (typeof value === "number") return createNumberSchema(value);
    if (Array.isArray(value)) return createListSchema(value);
    if (typeof value === "object" && value !== null)
      return createObjectSchema(value as Record<string, unknown>);
    const type = value === null ? "null" : "boolean";
    return { type: isRare(4) ? [type, "string"] : type };
  }

  function createTextSchema(text: string) {
    const known = texts.find(([sample]) => sample === text);
    if (known) return { type: "string", ...known[1] };
    const { length } = [...text];
    return {
      type: "string",
      ...(isRare(2) && { minLength: Math.max(0, length - pickBelow(2)) }),
      ...(isRare(2) && { maxLength: length + pickBelow(40) }),
    };
  }

  function createNumberSchema(number: number) {
    const isWhole = Number.isInteger(number);
    const reach = () => (isWhole ? 1 : 0.1) * pickBelow(8);
    const far = Number.MAX_SAFE_INTEGER;
    const from = isRare(4) ? -far : number - reach();
    const to = isRare(4) ? far : number + reach();
    return {
      type: isWhole && !isRare(3) ? "integer" : "number",
      ...(isRare(2) && (isRare(4) ? { exclusiveMinimum: from - 1 } : { minimum: from })),
      ...(isRare(2) && (isRare(4) ? { exclusiveMaximum: to + 1 } : { maximum: to })),
      ...(isRare(5) && number !== 0 && { multipleOf: isWhole && number % 5 === 0 ? 5 : isWhole ? 1 : 0.1 }),
    };
  }

  function createListSchema(list: readonly unknown[]) {
    const { length } = list;
    const isTuple = length > 0 && isRare(4);
    const first = list[0];
    return {
      type: "array",
      ...(isTuple && { items: list.map(createSchema), ...(isRare(2) && { additionalItems: false }) }),
      // items of one kind: a schema that all of them fit
      ...(!isTuple && length > 0 && { items: { anyOf: list.map(createSchema) } }),
      ...(isRare(2) && { minItems: Math.max(0, length - pickBelow(1)) }),
      ...(isRare(2) && { maxItems: length + pickBelow(3) }),
      ...(length > 0 && isRare(6) && { contains: createSchema(first) }),
      ...(length <= 1 && isRare(3) && { uniqueItems: true }),
    };
  }

  function createObjectSchema(object: Readonly<Record<string, unknown>>) {
    const names = Object.keys(object);
    const described = names.filter((name) => !(name.startsWith("x_") && isRare(2)));
    const [one, other] = names;
    return {
      type: "object",
      properties: Object.fromEntries(described.map((name) => [name, createSchema(object[name])])),
      ...(names.length > 0 && !isRare(4) && { required: names.filter(() => !isRare(3)) }),
      ...(described.length === names.length && isRare(2) && { additionalProperties: false }),
      ...(isRare(5) && { minProperties: names.length }),
      ...(isRare(5) && { maxProperties: names.length + pickBelow(2) }),
      ...(isRare(6) && { patternProperties: { "^y_": { type: "integer" } } }),
      ...(one && other && isRare(5) && { dependencies: { [one]: [other] } }),
    };
  }

  /** A keyword that restricts a matching value further, or that offers other shapes. */
  function compose(value: unknown): Readonly<Record<string, unknown>> {
    const foreign = types.find((type) => type !== findType(value) && !isRare(2)) ?? "null";
    const other = foreign === findType(value) ? { type: "object", required: ["never"] } : { type: foreign };
    const made: readonly (() => Readonly<Record<string, unknown>>)[] = [
      () => ({ allOf: [{ description: "A part" }, true] }),
      () => ({ anyOf: [createSchema(value), other] }),
      () => ({ oneOf: [{ type: findType(value) }, other] }),
      () => ({ not: { const: "never" } }),
      () => Object.fromEntries(["if", "then", "else"].map((key) => [key, { type: findType(value) }])),
    ];
    return made[pickBelow(made.length - 1)]?.() ?? {};
  }
}

function findType(value: unknown): (typeof types)[number] {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : (typeof value as (typeof types)[number]);
}
