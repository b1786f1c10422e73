import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as schemas from "@sluice/core/schemas";

/*
 * Writes the proxy's table of fields from the client's schemas and its table of models:
 *
 *   pnpm --filter @sluice/worker-proxy run spec-models
 *
 * The proxy does not import the schemas themselves: it checks names, and the gateway checks values.
 * `tests/rules/proxy-fields.test.ts` fails while the file is not what this writes.
 */

/** The parts of a valibot schema that say which fields there are. */
interface Schema {
  readonly type: string;
  readonly entries?: Readonly<Record<string, Schema>>;
  readonly item?: Schema;
  readonly wrapped?: Schema;
  /** The shape that a field of any value is assumed to have. */
  readonly assumed?: Schema;
  readonly options?: readonly Schema[];
  readonly getter?: (input: unknown) => Schema;
  readonly "~standard": { validate(value: unknown): { readonly issues?: readonly unknown[] } };
}

/** A field as the proxy knows it; `checks/fields.ts` says how it is written. */
type Shape = string | readonly [Shape] | { readonly [name: string]: Shape };

/** The inputs by which a lazy schema is asked for all that it may be. */
const INPUTS = ["", [], {}, { content: [{ type: "image_url" }] }];

/** Returns the schemas that a value may have, each of a type of its own. */
function alternativesOf({ wrapped, assumed, getter, options, ...schema }: Schema): Schema[] {
  if (schema.type === "never") return [];
  // where the shape is not known, the address may stand for the object that has it
  if (assumed) return [assumed, assumed.entries?.["url"] ?? []].flat().flatMap(alternativesOf);
  if (wrapped) return alternativesOf(wrapped);
  if (schema.type === "variant" || schema.type === "union" || (getter && options))
    return (options ?? []).flatMap((option) => alternativesOf(option));
  if (getter) return INPUTS.flatMap((input) => alternativesOf(getter(input)));
  return [schema];
}

/** Returns the shape of a field; undefined where it may have no value. */
function shapeOf(schemasOfField: readonly Schema[]): Shape | undefined {
  const all = schemasOfField.flatMap(alternativesOf);
  const items = all.flatMap(({ item }) => item ?? []);
  const plain = all.filter(({ item, entries }) => !item && !entries).map(kindOf);
  const entries = new Map<string, Schema[]>();
  for (const { entries: own = {} } of all)
    for (const [name, field] of Object.entries(own)) entries.set(name, [...(entries.get(name) ?? []), field]);
  const item = items.length > 0 ? shapeOf(items) : undefined;
  const kind = plain.toSorted((one, other) => KINDS.indexOf(one) - KINDS.indexOf(other)).at(-1);
  const fields = [...entries].flatMap(([name, own]) => {
    const shape = shapeOf(own);
    return shape === undefined ? [] : [[name, shape] as const];
  });
  const inside = fields.length > 0 ? { ...(kind && { "": kind }), ...Object.fromEntries(fields) } : kind;
  if (item === undefined) return inside;
  // a text or a list of parts: each part may be a text, too
  const isMixed = kind !== undefined && typeof item === "object" && !Array.isArray(item);
  return [isMixed ? ({ "": kind, ...item } as Shape) : item];
}

/** The kinds of plain values, the widest last. */
const KINDS = ["value", "file", "asset", "json"];

/** Tells by what a schema takes if a plain value is the address of a file, or of an asset, or JSON of any form. */
function kindOf(schema: Schema): string {
  const takes = (value: unknown) => schema["~standard"].validate(value).issues === undefined;
  if (schema.type === "custom" || schema.type === "any" || schema.type === "unknown") return "json";
  const isAddress = takes("https://cdn.example/a.png") && !takes("plain words");
  if (!isAddress) return "value";
  return takes("asset://x-1") ? "asset" : "file";
}

interface Row {
  readonly maxTokens?: number;
}

/** The groups of routes, with the constant that has their models. */
const groups = {
  chat: ["chat", "chatModels"],
  image: ["images", "imageModels"],
  video: ["videos", "videoModels"],
  asset: ["assets", "assetModels"],
} as const;

/** The mark behind the name of a field, by the kind of its plain value. */
const MARKS: Readonly<Record<string, string>> = { value: "", file: "@", asset: "$", json: "*" };

/** Writes fields as `checks/fields.ts` reads them. */
function textOf(shape: Shape | undefined): string {
  const fields = Object.entries((shape as Readonly<Record<string, Shape>>) ?? {});
  return fields.map(([name, inside]) => (name || "~") + insideOf(inside)).join(" ");
}

function insideOf(shape: Shape): string {
  if (typeof shape === "string") return MARKS[shape] ?? "";
  if (!Array.isArray(shape)) return `{${textOf(shape)}}`;
  const [item] = shape as readonly [Shape];
  return typeof item === "string" ? `${MARKS[item]}[]` : `[${textOf(item)}]`;
}

const written =
  "// Written by `scripts/spec-models.ts` from the schemas and the models of @sluice/core: not changed by hand.";

/** Returns `routes/spec-models.ts`: in each line the id of a model, the largest `max_tokens`, and the fields of its requests. */
export function writeModels(): string {
  const parts = Object.entries(groups).map(([kind, [name, constant]]) => {
    const models = Object.values(schemas.models).filter((model) => model.kind === kind);
    const rows = models.map((model) => {
      const { maxTokens = "" } = model as Row;
      const schema = schemas.requestSchemas[model.id] as unknown as Schema;
      return [model.id, maxTokens, textOf(shapeOf([schema]))].join("|");
    });
    return `
/** The models of ${name}: in each line the id, the largest \`max_tokens\`, and the fields of its requests. */
export const ${constant} = \`${rows.join("\n")}\`;
`;
  });
  return `${written}\n${parts.join("")}`;
}

if (import.meta.main) {
  write("routes/spec-models.ts", writeModels());
  const ids = Object.keys(schemas.models).map((id) => JSON.stringify(id));
  write(
    "api/spec-model-ids.ts",
    `${written}

/** The ids of the models of the spec. */
export type SpecModelId = ${ids.join(" | ")};
`,
  );
}

function write(file: string, text: string): void {
  writeFileSync(join(import.meta.dirname, "../src", file), text);
}
