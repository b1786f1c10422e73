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

/** A field as the proxy knows it; `checks/fields.ts` says what its marks are. */
type Shape = string | readonly [Shape] | { readonly [name: string]: Shape };

/** Inputs that make a lazy schema return each of its forms. */
const INPUTS = ["", [], {}, { content: [{ type: "image_url" }] }];

/** Returns the schemas that a value may have, each of a type of its own. */
function listAlternatives({ wrapped, assumed, getter, options, ...schema }: Schema): Schema[] {
  if (schema.type === "never") return [];
  // where the shape is not known, the address may stand for the object that has it
  if (assumed) return [assumed, assumed.entries?.["url"] ?? []].flat().flatMap(listAlternatives);
  if (wrapped) return listAlternatives(wrapped);
  if (schema.type === "variant" || schema.type === "union" || (getter && options))
    return (options ?? []).flatMap((option) => listAlternatives(option));
  if (getter) return INPUTS.flatMap((input) => listAlternatives(getter(input)));
  return [schema];
}

/** Returns the shape of a field; undefined where it may have no value. */
function readShape(schemasOfField: readonly Schema[]): Shape | undefined {
  const all = schemasOfField.flatMap(listAlternatives);
  const items = all.flatMap(({ item }) => item ?? []);
  const plain = all.filter(({ item, entries }) => !item && !entries).map(findMark);
  const entries = new Map<string, Schema[]>();
  for (const { entries: own = {} } of all)
    for (const [name, field] of Object.entries(own)) entries.set(name, [...(entries.get(name) ?? []), field]);
  const item = items.length > 0 ? readShape(items) : undefined;
  const mark = plain.toSorted((one, other) => MARKS.indexOf(one) - MARKS.indexOf(other)).at(-1);
  const fields = [...entries].flatMap(([name, own]) => {
    const shape = readShape(own);
    return shape === undefined ? [] : [[name, shape] as const];
  });
  const marked = mark === undefined ? {} : { "": mark };
  const inside = fields.length > 0 ? { ...marked, ...Object.fromEntries(fields) } : mark;
  if (item === undefined) return inside;
  // a text or a list of parts: each part may be a text, too
  const isMixed = mark !== undefined && typeof item === "object" && !Array.isArray(item);
  return [isMixed ? ({ "": mark, ...item } as Shape) : item];
}

/** The marks of plain values, the widest last. */
const MARKS = ["", "file", "asset", "json"];

/** Tells by what a schema takes if a plain value is the address of a file, or of an asset, or JSON of any form. */
function findMark(schema: Schema): string {
  const takes = (value: unknown) => schema["~standard"].validate(value).issues === undefined;
  if (schema.type === "custom" || schema.type === "any" || schema.type === "unknown") return "json";
  const isAddress = takes("https://cdn.example/a.png") && !takes("plain words");
  if (!isAddress) return "";
  return takes("asset://x-1") ? "asset" : "file";
}

/** The groups of routes, with the constant that has their models. */
const groups = {
  chat: ["chat", "chatModels"],
  image: ["images", "imageModels"],
  video: ["videos", "videoModels"],
  asset: ["assets", "assetModels"],
} as const;

const written =
  "// Written by `scripts/spec-models.ts` from the schemas and the models of @sluice/core: not changed by hand.";

/** Returns the rules of models as JSON: the largest `max_tokens`, and the fields of a request for one of them. */
function writeRules(
  id: string,
  models: readonly { readonly id: string; readonly maxTokens?: number }[],
): string {
  const given = models.map((model) => schemas.requestSchemas[model.id as never] as unknown as Schema);
  const known = readShape(given) as object;
  // too many texts for a model are the gateway's to refuse
  const fields = { ...known, ...("stop" in known && { stop: [""] }) };
  const [{ maxTokens } = {}] = id ? models : [];
  const hasUserId = id !== "" && "user_id" in fields;
  return `${JSON.stringify(id)}:${JSON.stringify({ maxTokens, ...(hasUserId && { hasUserId }), fields })}`;
}

/** Returns `routes/spec-models.ts`: the rules of each model, and under `""` those of all other models. */
export function writeModels(): string {
  const parts = Object.entries(groups).map(([kind, [name, constant]]) => {
    const models = Object.values(schemas.models).filter((model) => model.kind === kind);
    const rows = [...models.map((model) => writeRules(model.id, [model])), writeRules("", models)];
    return `
/** The models of ${name}, as JSON: of each the largest \`max_tokens\` and the fields of its requests. */
export const ${constant} = \`{${rows.join(",\n")}}\`;
`;
  });
  return `${written}\n${parts.join("")}`;
}

/** Returns the beginnings of ids: `gamma-video` of `gamma-video-2.0` and `gamma-video-fast`. */
export function listFamilies(ids: readonly string[]): string[] {
  const stems = ids.map((id) => /^[^-]+(?:-[a-z]+(?![^-]))*/.exec(id)?.[0] ?? id);
  return [...new Set(stems)].filter((stem) => !stems.some((other) => stem.startsWith(`${other}-`)));
}

/** Returns `api/spec-model-ids.ts`: the ids of all models, and their families by route. */
export function writeIds(): string {
  const all = Object.values(schemas.models);
  const families = Object.entries(groups).map(([kind, [route]]) => {
    const ids = all.filter((model) => model.kind === kind).map(({ id }) => id);
    const stems = listFamilies(ids).join("|").replaceAll(".", "\\.");
    return `${route}: /^${stems.includes("|") ? `(?:${stems})` : stems}\\b/`;
  });
  return `${written}

/** The ids of the models of the spec. */
export type SpecModelId =
  | ${all.map(({ id }) => JSON.stringify(id)).join("\n  | ")};

/** The beginnings of the ids of models, by the routes that they belong to. */
export const families = {
  ${families.join(",\n  ")},
} as const;
`;
}

if (import.meta.main) {
  write("routes/spec-models.ts", writeModels());
  write("api/spec-model-ids.ts", writeIds());
}

function write(file: string, text: string): void {
  writeFileSync(join(import.meta.dirname, "../src", file), text);
}
