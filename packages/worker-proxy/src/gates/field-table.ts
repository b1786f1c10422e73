import type { RouteName } from "../routes.js";

/*
 * The fields of the spec's requests, as nested names: `input{media[]{url@}}`. `[]` marks a list, `@` the address of a
 * file, `@asset` that of a file or of an asset, `*` JSON of any shape, `-` a field that is left out, `-1` one that is left out where it is 1 and refused
 * otherwise. A name that stands alone and with `{}` may be a plain value or an object.
 * `tests/proxy-fields.test.ts` compares them with the schemas of `@sluice/core`.
 */

const tools = `tool_choice tool_choice{type function{name}}
  tools[]{type function{name description parameters* strict}}`;
const chat = `model max_tokens temperature top_p stop[] stream stream_options{include_usage include_obfuscation-}
  messages[]{role content[] content[]{type text} name reasoning_content tool_call_id
    tool_calls[]{id type function{name arguments}}}`;
const penalties = "frequency_penalty presence_penalty";
const thinking = "thinking{type} reasoning_effort";
const image = `model prompt image[]@ size watermark seed sequential_image_generation
  sequential_image_generation_options{max_images} logo_info{add_logo position language opacity}`;
const beta = `model input{prompt media[]{type url@}}
  parameters{resolution ratio duration audio prompt_extend seed watermark}`;
const gamma = `model resolution ratio duration seed watermark camera_fixed
  content[]{type text image_url{url@} role}`;
const gamma2 = `${gamma} generate_audio tools[]{type}
  content[]{image_url{url@asset} video_url{url@} audio_url{url@}}`;

const fields: Readonly<Record<string, string>> = {
  "alpha-v4.1-flash": `${chat} ${tools} ${penalties} ${thinking} response_format{type}
    messages[]{content[]{image_url{url@ detail}}}`,
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

/** Marks each name that has no fields in it as one that is left out. */
const dropped = (names: string) => names.replace(/\w+(?![\w[{])/g, "$&-");

/** Fields that OpenAI clients send to any gateway, and that change little where they are left out. */
const harmless: Partial<Record<RouteName, string>> = {
  // `user_id` is the proxy's to say: one that users choose could be another user's
  chat: `n-1 ${dropped(`user user_id seed parallel_tool_calls store metadata service_tier logprobs
    top_logprobs logit_bias safety_identifier prompt_cache_key prompt_cache_retention verbosity
    messages[]{refusal annotations audio function_call index id parsed reasoning reasoning_details cache_control
      content[]{cache_control} tool_calls[]{index function{parsed_arguments}}} tools[]{cache_control}`)}`,
  images: `n-1 ${dropped("user response_format quality style")}`,
};

/** The route of each family of the spec's models, by the beginning of its ids. */
const families: readonly (readonly [ids: RegExp, route: RouteName])[] = [
  [/^(?:alpha|gamma-chat|delta)-/, "chat"],
  [/^gamma-image-/, "images"],
  [/^(?:beta3\.0|gamma)-video/, "videos"],
  [/^gamma-asset/, "assets"],
  [/^epsilon/, "epsilon"],
];

/** The route of a model's family; undefined for a family that the spec does not have. */
export function routeOf(model: string): RouteName | undefined {
  return families.find(([ids]) => ids.test(model))?.[1];
}

/** Returns true if a model belongs to this route. A model of an unknown family fits any route. */
export function belongsTo(model: string, name: RouteName): boolean {
  return (routeOf(model) ?? name) === name;
}

/** The largest `max_tokens` of each model that has one. */
export const maxTokens: ReadonlyMap<string, number> = new Map([
  ["alpha-v4.1-flash", 393_216],
  ["gamma-chat-1-6-251015", 8192],
  ["delta-5.3", 131_072],
]);

/** Returns true if a model has the fields that the spec lists for one model alone: `user_id` and `stream_options`. */
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
export function createTables(allowed: readonly string[]): FieldsOf {
  const added = allowed.map(
    (path) => `${path.replaceAll(".", "{")}?${path.replace(/[^.]/g, "").replaceAll(".", "}")}`,
  );
  const tables = new Map<string, Field>();
  return (name, model) => {
    // the spec shows no shapes of these
    if (name === "epsilon") return fieldAt("", "?");
    const isListed = Object.hasOwn(fields, model);
    // one table for all models that are not known: clients choose their names
    const key = `${name} ${isListed ? model : ""}`;
    const ids = isListed ? [model] : Object.keys(fields).filter((id) => belongsTo(id, name));
    const table =
      tables.get(key) ?? tableOf([harmless[name], ...ids.map((id) => fields[id]), ...added].join(" "));
    tables.set(key, table);
    return table;
  };
}

/** Makes a table of nested names; what comes later adds to what came before. */
export function tableOf(names: string): Field {
  const root = fieldAt("");
  const parents = [root];
  for (const [token, name = "", list, mark, open] of names.matchAll(/\}|(\w+)(\[\])?([^\s{}]*)(\{)?/g)) {
    const [parent = root] = parents;
    if (token === "}") parents.shift();
    else {
      const field = parent.fields.get(name) ?? fieldAt(parent.path ? `${parent.path}.${name}` : name);
      parent.fields.set(name, field);
      if (list) field.isList = true;
      if (!open) field.mark = mark;
      // one that would be left out stays, for what is added in it
      else if (isDropped(field)) field.mark = undefined;
      if (open) parents.unshift(field);
    }
  }
  return root;
}

function fieldAt(path: string, mark?: string): Field {
  return { path, mark, isList: false, fields: new Map() };
}

/** Returns true for a field that is left out. */
export function isDropped({ mark }: Field): boolean {
  return mark === "-" || mark === "-1";
}

/** Returns true if a table has a field that can reach the gateway. */
export function hasField(table: Field, path: string): boolean {
  let field: Field | undefined = table;
  for (const name of path.split(".")) {
    if (field?.mark === "?") return true;
    field = field?.fields.get(name);
  }
  return field !== undefined && !isDropped(field);
}
