import type { RouteName } from "../api/routes.js";
import { specModels } from "./spec-models.js";

/*
 * Tables of fields are written as text: the names of the fields, each with a mark for the plain value that it may have.
 * None: any. `@`: the address of a file. `$`: that of a file or an asset. `*`: JSON of any form. `+`: anything, by the operator's
 * word. `-`: left out of the body. `!`: left out where it is 1, and refused otherwise. `{…}` has the fields of an object, and
 * `[…]` those of the objects in a list; `~` among them is the plain value that may stand for one. `[]` is a list of values.
 */

/** A field of a request, and the fields in it. */
export interface Field {
  /** `input.media.url`; empty for the body itself. */
  readonly path: string;
  /** The mark of its plain value; undefined where only the fields in it are listed. */
  mark: string | undefined;
  isList: boolean;
  readonly fields: Map<string, Field>;
}

/** The fields that a model takes at a route. */
export type FieldsOf = (name: RouteName, model: string) => Field;

/** Fields that OpenAI clients send to any gateway, and that change little where they are left out. */
const leftOut: Partial<Record<RouteName, string>> = {
  // the proxy alone sets `user_id`: a user could send the id of another one
  chat: `n! user_id- user- seed- parallel_tool_calls- store- metadata- service_tier- logprobs- top_logprobs- logit_bias-
    safety_identifier- prompt_cache_key- prompt_cache_retention- verbosity- stream_options{include_obfuscation-}
    messages{refusal- annotations- audio- function_call- index- id- parsed- reasoning- reasoning_details- cache_control-
    content{cache_control- image_url{details-}} tool_calls{index- function{parsed_arguments-}}} tools{cache_control-}`,
  images: "n! user- response_format- quality- style-",
};

/** The route of each family of the spec's models, by the beginning of its ids: for models that are newer than this package. */
const families: readonly (readonly [ids: RegExp, route: RouteName])[] = [
  [/^(?:alpha|gamma-chat|delta)-/, "chat"],
  [/^gamma-image-/, "images"],
  [/^(?:beta3\.0|gamma)-video/, "videos"],
  [/^gamma-asset/, "assets"],
  [/^epsilon/, "epsilon"],
];

const models = new Map(
  specModels.split("\n").map((line) => {
    const [route = "", id = "", maxTokens, fields = ""] = line.split("|");
    return [id, { route, maxTokens: Number(maxTokens) || undefined, fields }];
  }),
);

/** The route of a model's family; undefined for a family that the spec does not have. */
export function routeOf(model: string): RouteName | undefined {
  return models.get(model)?.route ?? families.find(([ids]) => ids.test(model))?.[1];
}

/** Returns true if a model belongs to this route. A model of an unknown family fits any route. */
export function belongsTo(model: string, name: RouteName): boolean {
  return (routeOf(model) ?? name) === name;
}

/** The largest `max_tokens` of a model; undefined where the spec has none. */
export function maxTokensOf(model: string): number | undefined {
  return models.get(model)?.maxTokens;
}

/** Returns true if a model has the fields that the spec lists for one model alone: `user_id` and `stream_options`. */
export function hasOwnFields(model: string): boolean {
  return models.get(model)?.fields.endsWith(" user_id") === true;
}

/** Creates the tables of one proxy: the spec's, with the fields that the operator adds to all models. */
export function createTables(allowed: readonly string[]): FieldsOf {
  const tables = new Map<string, Field>();
  return (name, model) => {
    const spec = models.get(model);
    // one table for all models that are not known: clients choose their names
    const key = `${name} ${spec ? model : ""}`;
    const known = tables.get(key);
    if (known) return known;
    const table = openField("");
    // the spec shows no shapes of these
    if (name === "epsilon") table.mark = "+";
    for (const { route, fields } of spec ? [spec] : models.values())
      if (spec || route === name) addFields(table, fields);
    // too many texts for a model are the gateway's to refuse
    if (name === "chat") addFields(table, "stop[]");
    addFields(table, leftOut[name] ?? "");
    for (const path of allowed) addFields(table, `${path.replaceAll(".", "{")}+`);
    tables.set(key, table);
    return table;
  };
}

const FIELD = /([\w~]+)([@$*+!-]?)(\[\]|[[{]?)|[\]}]/g;

/** Adds fields, and what a field may hold to what it could hold before. */
export function addFields(table: Field, text: string): Field {
  const parents = [table];
  for (const [, name, mark = "", bracket = ""] of text.matchAll(FIELD)) {
    const parent = parents.at(-1) ?? table;
    if (name === undefined) {
      parents.pop();
      continue;
    }
    const field = name === "~" ? parent : childOf(parent, name);
    if (bracket.startsWith("[")) field.isList = true;
    if (bracket === "[" || bracket === "{") {
      parents.push(field);
      // a field that would be left out stays where something is added in it
      if (isDropped(field)) field.mark = undefined;
    }
    // a field that may name an asset for one model may name one for all
    else if (field.mark !== "$" || mark !== "@") field.mark = mark;
  }
  return table;
}

function childOf(parent: Field, name: string): Field {
  const child = parent.fields.get(name) ?? openField(parent.path ? `${parent.path}.${name}` : name);
  parent.fields.set(name, child);
  return child;
}

/** Opens a table, or a field of one. */
export function openField(path: string): Field {
  return { path, mark: undefined, isList: false, fields: new Map() };
}

/** Returns true for a field that is left out. */
export function isDropped({ mark }: Field): boolean {
  return mark === "-" || mark === "!";
}

/** Returns true for a field that may hold anything. */
export function isFree({ mark }: Field): boolean {
  return mark === "*" || mark === "+";
}

/** Returns true if a table has a field that can reach the gateway. */
export function hasField(table: Field, path: string): boolean {
  let field: Field | undefined = table;
  for (const name of path.split(".")) {
    if (field?.mark === "+") return true;
    field = field?.fields.get(name);
  }
  return field !== undefined && !isDropped(field);
}
