import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { type FieldDocs, readDocs } from "./field-docs.ts";

/*
 * Writes the requests of all models as JSON Schema, from the client's schemas and the docs of their fields. An install
 * and a build run it; what it writes is not committed.
 */

// what it reads is noted in development only
process.env["NODE_ENV"] = "development";
// the sources name each other as they are built
registerHooks({
  resolve: (name, context, next) =>
    next(
      context.parentURL?.endsWith(".ts") && name.startsWith(".") ? name.replace(/js$/, "ts") : name,
      context,
    ),
});
const { requestSchemas } = await import("../src/schemas/requests.ts");

/** The parts of a valibot schema that JSON Schema can say. */
interface Schema {
  readonly type: string;
  readonly pipe?: readonly Action[];
  readonly entries?: Readonly<Record<string, Schema>>;
  readonly item?: Schema;
  readonly wrapped?: Schema;
  /** The shape that a field of any value is assumed to have. */
  readonly assumed?: Schema;
  readonly literal?: unknown;
  readonly options?: readonly unknown[];
  readonly getter?: (input: unknown) => Schema;
}

/** A check, with what `withKeywords` of `base/validate.ts` has noted; the schema before it may have checks, too. */
interface Action {
  readonly pipe?: readonly Action[];
  readonly keywords?: {
    readonly type?: string;
    readonly minimum?: number | undefined;
    readonly maximum?: number | undefined;
    /** One more value than those from `minimum` to `maximum`. */
    readonly auto?: number | undefined;
    readonly maxItems?: number;
    readonly maxLength?: number;
    readonly pattern?: RegExp;
    /** Schema of the values that the text must not have. */
    readonly not?: JSONSchema;
    /** The smallest length of a text or a list. */
    readonly minLength?: number;
    readonly items?: {
      readonly field: string;
      readonly values: readonly string[];
      readonly min: number;
      readonly max: number;
    };
  };
}

type JSONSchema = { readonly [keyword: string]: unknown };

/** Matches no value that JSON has: the field has to be left out. */
const NEVER: JSONSchema = { not: {} };
/** Inputs that make a lazy schema return each of its forms. */
const INPUTS = ["", {}, [], { content: [{ type: "image_url" }] }];

type Types = FieldDocs["types"];
type Docs = ReturnType<typeof readDocs>;

/** Returns the JSON Schema of a schema, whose docs are at `types`. */
function written(schema: Schema, types: Types, docs: Docs): JSONSchema {
  const { type, wrapped, entries, item, options = [], getter, pipe = [] } = schema;
  const inside = (one: Schema) => written(one, types, docs);
  if (schema.assumed) return { anyOf: [inside(schema.assumed), {}] };
  if (type === "optional" && wrapped) return inside(wrapped);
  if (type === "nullish" && wrapped) return { anyOf: [inside(wrapped), { type: "null" }] };
  if (type === "variant" || (getter && options.length > 0))
    return either((options as readonly Schema[]).map(inside));
  if (getter) return either([...new Set(INPUTS.map(getter))].map(inside));
  if (type === "never") return NEVER;
  if (type === "literal") return { type: "string", const: schema.literal };
  if (type === "picklist" && options.length === 1) return { type: "string", const: options[0] };
  if (type === "picklist") return { type: "string", enum: options };
  if (entries) return createObject(entries, types, docs);
  if (item) return { type: "array", items: inside(item), ...createKeywords(pipe, "array") };
  if (type === "string" || type === "number" || type === "boolean")
    return { type, ...createKeywords(pipe, type) };
  if (type === "custom") return { type: "object" };
  throw new Error(`${type} has no JSON Schema`);
}

function createObject(entries: Readonly<Record<string, Schema>>, types: Types, docs: Docs): JSONSchema {
  const fields = Object.entries(entries).map(([name, field]) => {
    const { text, value, types: inside } = docs.field(types, name, entries);
    const described = { ...(text && { description: text }), ...(value !== undefined && { default: value }) };
    return [name, { ...written(field, inside, docs), ...described }] as const;
  });
  const required = Object.entries(entries).filter(([, { type }]) => !["optional", "nullish"].includes(type));
  return {
    type: "object",
    properties: Object.fromEntries(fields),
    ...(required.length > 0 && { required: required.map(([name]) => name) }),
  };
}

/** Writes the checks of a text, a number or a list. */
function createKeywords(actions: readonly Action[], type: string): JSONSchema {
  const pipe = actions.flatMap((action) => action.pipe ?? action);
  const counts = pipe.flatMap(({ keywords }) => keywords?.items ?? []).map(createCount);
  const plain = pipe.map(({ keywords: { items: _, minLength, auto, pattern, ...rest } = {} }) => {
    const integer = auto === undefined ? rest : { anyOf: [{ const: auto }, rest] };
    return {
      ...integer,
      ...(minLength && { [type === "array" ? "minItems" : "minLength"]: minLength }),
      ...(pattern && { pattern: pattern.source }),
    };
  });
  return Object.assign({}, ...plain, counts.length > 1 ? { allOf: counts } : counts[0]);
}

function createCount({ field, values, min, max }: NonNullable<NonNullable<Action["keywords"]>["items"]>) {
  const value = values.length > 1 ? { enum: values } : { const: values[0] };
  const contains = { type: "object", properties: { [field]: value }, required: [field] };
  return { type: "array", contains, minContains: min, maxContains: max };
}

/** Joins the forms of a lazy schema or a variant. */
function either(forms: readonly JSONSchema[]): JSONSchema {
  const possible = forms.filter((form) => !("not" in form));
  const different = [...new Map(possible.map((form) => [JSON.stringify(form), form])).values()];
  return different.length > 1 ? { anyOf: different } : (different[0] ?? NEVER);
}

/** Joins the forms of a request field by field: agents take no union at the top. Rules across fields are lost. */
function merged({ anyOf, ...form }: JSONSchema): JSONSchema {
  if (!Array.isArray(anyOf)) return form;
  const forms = (anyOf as readonly JSONSchema[]).map(
    (one) => one["properties"] as Record<string, JSONSchema>,
  );
  const names = [...new Set(forms.flatMap(Object.keys))];
  const properties = names.map((name) => [name, mergedField(forms.map((fields) => fields[name] ?? NEVER))]);
  return { ...(anyOf[0] as JSONSchema), properties: Object.fromEntries(properties) };
}

/** Joins a field of several forms, whose docs are the same. */
function mergedField(forms: readonly JSONSchema[]): JSONSchema {
  const possible = forms.filter((form) => !("not" in form));
  const { description, default: value } = forms[0] ?? {};
  const lists = possible.map((form) => form["enum"] as readonly unknown[] | undefined);
  const all = [...new Set(lists.flatMap((list) => list ?? []))];
  const whole = lists.find((list) => list?.length === all.length);
  const field = whole && lists.every(Boolean) ? { type: "string", enum: whole } : undefined;
  const plain = possible.map(({ description: _, default: __, ...form }) => form);
  return {
    ...(field ?? either(plain)),
    ...(description !== undefined && { description }),
    ...(value !== undefined && { default: value }),
  };
}

/** Returns the JSON Schemas of all models, by the id of the model. */
function jsonSchemas(): Readonly<Record<string, JSONSchema>> {
  using docs = readDocs();
  const requests = docs.listTypes("schemas/requests.ts", "Requests");
  const all = Object.entries(requestSchemas).map(([model, schema]) => {
    const { types, text } = docs.field(requests, model);
    const { type, properties, ...rest } = merged(written(schema as Schema, types, docs));
    const fields = properties as Record<string, JSONSchema>;
    // several models may have one schema
    const { enum: _, ...id } = fields["model"] ?? {};
    const request = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      description: text.replace(/ \(spec, [^)]*\)/, ""),
      type,
      properties: { ...fields, model: { ...id, const: model } },
      ...rest,
    };
    return [model, request] as const;
  });
  return Object.fromEntries(all);
}

/** Length of JSON from which on a part that occurs again is a constant. */
const MIN_SHARED = 25;

/** Writes schemas as source. A part that occurs more than once is a constant, which stands before those that use it. */
function formatSource(schemas: Readonly<Record<string, JSONSchema>>): string {
  const counts = new Map<string, number>();
  count(schemas);
  const names = new Map<string, string>();
  const taken = new Map<string, number>();
  const constants: string[] = [];
  // without the keywords that are undefined
  const all = formatLiteral(JSON.parse(JSON.stringify(schemas)), "schemas");
  return `${constants.join("\n")}

/** The requests of all models as JSON Schema, by the id of the model. Models share parts: copy before a change. */
export const jsonSchemas: Readonly<Record<string, unknown>> = ${all};
`;

  function count(part: unknown): void {
    if (part === null || (typeof part !== "object" && typeof part !== "string")) return;
    const json = JSON.stringify(part);
    const before = counts.get(json) ?? 0;
    counts.set(json, before + 1);
    // what is in a part that was seen is written once, with it
    if (typeof part === "object" && (before === 0 || json.length < MIN_SHARED))
      for (const inside of Object.values(part)) count(inside);
  }

  /** @param field name of the part, or of the nearest field that has one */
  function write(part: unknown, field: string): string {
    const json = JSON.stringify(part);
    if (json.length < MIN_SHARED || (counts.get(json) ?? 0) < 2) return formatLiteral(part, field);
    const known = names.get(json);
    if (known) return known;
    const literal = formatLiteral(part, field);
    const stem = `${field.replace(/\W+|_(\w)/g, (_, letter = "") => letter.toUpperCase())}Schema`;
    const nth = (taken.get(stem) ?? 0) + 1;
    taken.set(stem, nth);
    const name = nth === 1 ? stem : `${stem}${nth}`;
    names.set(json, name);
    constants.push(`const ${name} = ${literal};`);
    return name;
  }

  function formatLiteral(part: unknown, field: string): string {
    if (Array.isArray(part)) return `[${part.map((item) => write(item, field)).join(", ")}]`;
    if (typeof part !== "object" || part === null) return JSON.stringify(part);
    const entries = Object.entries(part).map(([name, inside]) => {
      const nearest = KEYWORDS.includes(name) ? field : name;
      return `${/^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name)}: ${write(inside, nearest)}`;
    });
    return `{ ${entries.join(", ")} }`;
  }
}

/** Keywords that have schemas or lists, and name no field. */
const KEYWORDS = ["properties", "items", "anyOf", "allOf", "contains", "enum", "required"];

const file = join(import.meta.dirname, "../src/types/json-schemas.ts");
const source = formatSource(jsonSchemas());
if (!existsSync(file) || readFileSync(file, "utf8") !== source) {
  // in one step: tests may read it now
  writeFileSync(`${file}.${process.pid}`, source);
  renameSync(`${file}.${process.pid}`, file);
}
