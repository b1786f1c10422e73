import type { RouteName } from "../admitted.js";

/*
 * The fields of the spec's requests, as paths: `input.media[].url@`. `[]` marks a list, `@` the address of a file, `*`
 * JSON of any shape, `-` a field that is left out, `-1` one that is left out where it is 1 and refused otherwise.
 * `tests/proxy-fields.test.ts` compares them with the schemas of `@sluice/core`.
 */

/** Puts a parent before each path. */
const under = (parent: string, paths: string) => paths.replace(/\S+/g, `${parent}.$&`);
const dropped = (paths: string) => paths.replace(/\S+/g, "$&-");

const tools = `tool_choice tool_choice.type tool_choice.function.name
  ${under("tools[]", "type function.name function.description function.parameters* function.strict")}`;
const chat = `model max_tokens temperature top_p stop[] stream
  ${under("messages[]", "role content[] content[].type content[].text name reasoning_content tool_call_id")}
  ${under("messages[].tool_calls[]", "id type function.name function.arguments")}`;
const penalties = "frequency_penalty presence_penalty";
const thinking = "thinking.type reasoning_effort";
const image = `model prompt image[]@ size watermark seed sequential_image_generation
  sequential_image_generation_options.max_images
  ${under("logo_info", "add_logo position language opacity")}`;
const beta = `model input.prompt input.media[].type input.media[].url@
  ${under("parameters", "resolution ratio duration audio prompt_extend seed watermark")}`;
const gamma = `model resolution ratio duration seed watermark camera_fixed
  ${under("content[]", "type text image_url.url@ role")}`;
const gamma2 = `${gamma} generate_audio tools[].type content[].video_url.url@ content[].audio_url.url@`;

const fields: Readonly<Record<string, string>> = {
  "alpha-v4.1-flash": `${chat} ${tools} ${penalties} ${thinking} response_format.type
    stream_options.include_usage stream_options.include_obfuscation-
    ${under("messages[].content[].image_url", "url@ detail")}`,
  "gamma-chat-1-6-251015": `${chat} ${penalties}`,
  "delta-5.3": `${chat} ${tools} ${thinking}`,
  "gamma-image-4-0-250828": image,
  "gamma-image-5-0-260128": image,
  "beta3.0-video": beta,
  "beta3.0-video-prime": beta,
  "gamma-video-1-5-pro-251215": `${gamma} generate_audio`,
  "gamma-video-1-0-pro-fast-251015": gamma,
  "gamma-video-2.0": `${gamma2} return_last_frame`,
  "gamma-video-fast": gamma2,
  "gamma-asset": "model GroupId Name AssetType URL@",
};

/** What OpenAI clients send to any gateway, and what changes little where it is left out. */
const harmless: Partial<Record<RouteName, string>> = {
  // `user_id` is the proxy's to say: one that users choose could be another user's
  chat: `n-1 ${dropped(`user user_id seed stream_options parallel_tool_calls store metadata service_tier logprobs
    top_logprobs logit_bias safety_identifier prompt_cache_key prompt_cache_retention verbosity
    messages[].content[].cache_control tools[].cache_control
    ${under("messages[]", "refusal annotations audio function_call index id parsed reasoning reasoning_details")}
    ${under("messages[]", "cache_control tool_calls[].index tool_calls[].function.parsed_arguments")}`)}`,
  images: `n-1 ${dropped("user response_format")}`,
};

/** The route of each family of the spec's models, by the beginning of its ids. */
const families: readonly (readonly [ids: RegExp, route: RouteName])[] = [
  [/^(?:alpha|gamma-chat|delta)-/, "chat"],
  [/^gamma-image-/, "images"],
  [/^(?:beta3\.0|gamma)-video/, "videos"],
  [/^gamma-asset/, "assets"],
  [/^epsilon/, "epsilon"],
];

/** Tells whether the spec lists a model. */
const isInSpec = (model: string) => Object.hasOwn(fields, model);

/** The route of a model's family; undefined for a family that the spec does not have. */
export function routeOf(model: string): RouteName | undefined {
  return families.find(([ids]) => ids.test(model))?.[1];
}

/** Tells whether a model is asked at this route. One of a family that the spec does not have may be asked at any. */
export function belongsTo(model: string, name: RouteName): boolean {
  return (routeOf(model) ?? name) === name;
}

/** The largest `max_tokens` of each model that has one. */
const maxTokens: Readonly<Record<string, number>> = {
  "alpha-v4.1-flash": 393_216,
  "gamma-chat-1-6-251015": 8192,
  "delta-5.3": 131_072,
};

/** The largest `max_tokens` that a model takes, as far as the spec says. */
export function maxTokensOf(model: string): number {
  return isInSpec(model) ? (maxTokens[model] ?? Infinity) : Infinity;
}

/** Tells whether a model has the fields that the spec lists for one model alone: `user_id` and `stream_options`. */
export function hasOwnFields(model: string): boolean {
  return model === "alpha-v4.1-flash";
}

/** A field of a request, and the fields in it. */
export interface Field {
  /** `input.media.url`; empty for the body itself. */
  readonly path: string;
  /** A mark of the table; `?` for what the operator adds; undefined where only the fields in it are listed. */
  mark: string | undefined;
  isList: boolean;
  readonly fields: Map<string, Field>;
}

/** The fields that a model takes at a route. */
export type FieldsOf = (name: RouteName, model: string) => Field;

/** Creates the tables of one proxy: the spec's, with the fields that the operator adds to all models. */
export function createTables(added: readonly string[]): FieldsOf {
  const tables = new Map<string, Field>();
  return (name, model) => {
    // the spec shows no shapes of these
    if (name === "epsilon") return fieldAt("", "?");
    // one table for all models that are not known: clients choose their names
    const key = `${name} ${isInSpec(model) ? model : ""}`;
    const table = tables.get(key) ?? tableOf(listed(name, model), added);
    tables.set(key, table);
    return table;
  };
}

/** The paths of a model's fields; for a model that the spec does not list, those of all models of the route. */
function listed(name: RouteName, model: string): string {
  const ids = isInSpec(model) ? [model] : Object.keys(fields).filter((id) => belongsTo(id, name));
  return [harmless[name], ...ids.map((id) => fields[id])].join(" ");
}

export function tableOf(paths: string, added: readonly string[] = []): Field {
  const root = fieldAt("");
  for (const [, path = "", mark] of paths.matchAll(/([\w.[\]]+)(\S*)/g)) add(root, path, mark);
  for (const path of added) add(root, path, "?");
  return root;
}

function add(root: Field, path: string, mark: string | undefined): void {
  let field = root;
  for (const part of path.split(".")) {
    const name = part.replace("[]", "");
    // one that would be left out stays, for what is added in it
    if (isDropped(field)) field.mark = undefined;
    const next = field.fields.get(name) ?? fieldAt(field.path ? `${field.path}.${name}` : name);
    field.fields.set(name, next);
    next.isList ||= part !== name;
    field = next;
  }
  field.mark = mark;
}

function fieldAt(path: string, mark?: string): Field {
  return { path, mark, isList: false, fields: new Map() };
}

/** Tells whether a field is left out, where it is not refused. */
export function isDropped({ mark }: Field): boolean {
  return mark === "-" || mark === "-1";
}

/** Tells whether a table has a field that can reach the gateway. */
export function hasField(table: Field, path: string): boolean {
  let field: Field | undefined = table;
  for (const name of path.split(".")) {
    if (field?.mark === "?") return true;
    field = field?.fields.get(name);
  }
  return field !== undefined && !isDropped(field);
}
