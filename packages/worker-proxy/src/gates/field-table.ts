import type { RouteName } from "../routes.js";
import type { Kind, SpecField, SpecModel } from "./spec-model.js";
import { specModels } from "./spec-models.js";

/** Fields that OpenAI clients send to any gateway, and that change little where they are left out. */
export const leftOut: Partial<Record<RouteName, readonly string[]>> = {
  chat: [
    // the proxy alone sets it: a user could send the id of another one
    "user_id",
    ...[
      "user",
      "seed",
      "parallel_tool_calls",
      "store",
      "metadata",
      "service_tier",
      "logprobs",
      "top_logprobs",
    ],
    ...["logit_bias", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "verbosity"],
    ...["refusal", "annotations", "audio", "function_call", "index", "id", "parsed", "reasoning"].map(
      (name) => `messages.${name}`,
    ),
    ...["messages.reasoning_details", "messages.cache_control", "messages.content.cache_control"],
    ...["messages.tool_calls.index", "messages.tool_calls.function.parsed_arguments", "tools.cache_control"],
    ...["messages.content.image_url.details", "stream_options.include_obfuscation"],
  ],
  images: ["user", "response_format", "quality", "style"],
};

/** The route of each family of the spec's models, by the beginning of its ids: for models that are newer than this package. */
const families: readonly (readonly [ids: RegExp, route: RouteName])[] = [
  [/^(?:alpha|gamma-chat|delta)-/, "chat"],
  [/^gamma-image-/, "images"],
  [/^(?:beta3\.0|gamma)-video/, "videos"],
  [/^gamma-asset/, "assets"],
  [/^epsilon/, "epsilon"],
];

/** The route of a model's family; undefined for a family that the spec does not have. */
export function routeOf(model: string): RouteName | undefined {
  return specOf(model)?.route ?? families.find(([ids]) => ids.test(model))?.[1];
}

/** Returns true if a model belongs to this route. A model of an unknown family fits any route. */
export function belongsTo(model: string, name: RouteName): boolean {
  return (routeOf(model) ?? name) === name;
}

/** The largest `max_tokens` of a model; undefined where the spec has none. */
export function maxTokensOf(model: string): number | undefined {
  return specOf(model)?.maxTokens;
}

/** Returns true if a model has the fields that the spec lists for one model alone: `user_id` and `stream_options`. */
export function hasOwnFields(model: string): boolean {
  return specOf(model)?.usageOnRequest === true;
}

/** Callers choose the names of models: one like `toString` is none. */
function specOf(model: string): SpecModel | undefined {
  return Object.hasOwn(specModels, model) ? specModels[model] : undefined;
}

/** A field of a request, and the fields in it. */
export interface Field {
  /** `input.media.url`; empty for the body itself. */
  readonly path: string;
  /**
   * The plain value that it may have; undefined where only the fields in it are listed. `added`: anything, by the operator's
   * word; `left-out`: taken out of the body; `only-1`: taken out where it is 1, and refused otherwise.
   */
  kind: Kind | "added" | "left-out" | "only-1" | undefined;
  isList: boolean;
  readonly fields: Map<string, Field>;
}

/** The fields that a model takes at a route. */
export type FieldsOf = (name: RouteName, model: string) => Field;

/** Creates the tables of one proxy: the spec's, with the fields that the operator adds to all models. */
export function createTables(allowed: readonly string[]): FieldsOf {
  const tables = new Map<string, Field>();
  return (name, model) => {
    // the spec shows no shapes of these
    if (name === "epsilon") return fieldAt("", "added");
    const spec = specOf(model);
    // one table for all models that are not known: clients choose their names
    const key = `${name} ${spec ? model : ""}`;
    const known = tables.get(key);
    if (known) return known;
    const ids = spec ? [model] : Object.keys(specModels).filter((id) => belongsTo(id, name));
    const table = fieldAt("");
    for (const id of ids) addShape(table, specModels[id]?.fields ?? {});
    // too many texts for a model are the gateway's to refuse
    if (name === "chat") childOf(table, "stop").isList = true;
    if (leftOut[name]) addPath(table, "n", "only-1");
    for (const path of leftOut[name] ?? []) addPath(table, path, "left-out");
    for (const path of allowed) addPath(table, path, "added");
    tables.set(key, table);
    return table;
  };
}

/** The table of one field that may hold anything. */
export function tableWith(name: string): Field {
  const table = fieldAt("");
  addPath(table, name, "added");
  return table;
}

/** Adds what a field may hold to what it could hold before. */
function addShape(field: Field, shape: SpecField): void {
  // a field that may name an asset for one model may name one for all
  if (typeof shape === "string") field.kind = field.kind === "asset" ? "asset" : shape;
  else if (Array.isArray(shape)) {
    field.isList = true;
    addShape(field, shape[0] as SpecField);
  } else
    for (const [name, inside] of Object.entries(shape))
      addShape(name === "" ? field : childOf(field, name), inside);
}

/** Adds one field by its path, `extra_body.top_k`. */
function addPath(table: Field, path: string, kind: Field["kind"]): void {
  let field = table;
  for (const name of path.split(".")) {
    field = childOf(field, name);
    // a field that would be left out stays where something is added in it
    if (isDropped(field)) field.kind = undefined;
  }
  field.kind = kind;
}

function childOf(parent: Field, name: string): Field {
  const child = parent.fields.get(name) ?? fieldAt(parent.path ? `${parent.path}.${name}` : name);
  parent.fields.set(name, child);
  return child;
}

function fieldAt(path: string, kind?: Field["kind"]): Field {
  return { path, kind, isList: false, fields: new Map() };
}

/** Returns true for a field that is left out. */
export function isDropped({ kind }: Field): boolean {
  return kind === "left-out" || kind === "only-1";
}

/** Returns true if a table has a field that can reach the gateway. */
export function hasField(table: Field, path: string): boolean {
  let field: Field | undefined = table;
  for (const name of path.split(".")) {
    if (field?.kind === "added") return true;
    field = field?.fields.get(name);
  }
  return field !== undefined && !isDropped(field);
}
