import type { RouteName } from "../admitted.js";

/*
 * The fields of the spec's requests, as paths: `input.media[].url@`. `[]` marks a list, `@` the address of a file, `*`
 * JSON of any shape, `-` a field that is left out, `=1` one that is left out where it is 1 and refused otherwise.
 * `tests/proxy-fields.test.ts` compares them with the schemas of `@sluice/core`.
 */

/** Puts a parent before each path. */
function under(parent: string, fields: string): string {
  return fields.replace(/\S+/g, `${parent}.$&`);
}

function dropped(fields: string): string {
  return fields.replace(/\S+/g, "$&-");
}

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
  chat: `n=1 ${dropped(`user user_id seed stream_options parallel_tool_calls store metadata service_tier logprobs
    top_logprobs logit_bias safety_identifier prompt_cache_key prompt_cache_retention verbosity
    messages[].content[].cache_control tools[].cache_control
    ${under("messages[]", "refusal annotations audio function_call index id parsed reasoning reasoning_details")}
    ${under("messages[]", "cache_control tool_calls[].index tool_calls[].function.parsed_arguments")}`)}`,
  images: `n=1 ${dropped("user response_format")}`,
};

/** The route of each family of the spec's models, by the beginning of its ids. */
const families: readonly (readonly [ids: RegExp, route: RouteName])[] = [
  [/^(?:alpha|gamma-chat|delta)-/, "chat"],
  [/^gamma-image-/, "images"],
  [/^(?:beta3\.0|gamma)-video/, "videos"],
  [/^gamma-asset/, "assets"],
  [/^epsilon/, "epsilon"],
];

/** The largest `max_tokens` of each model that has one. */
const maxTokens = new Map([
  ["alpha-v4.1-flash", 393_216],
  ["gamma-chat-1-6-251015", 8192],
  ["delta-5.3", 131_072],
]);

/**
 * The fields that a model takes at a route, as paths; for a model that the spec does not list, those of all models of
 * the route.
 */
export function listedFields(name: RouteName, model: string): string {
  const ids = isInSpec(model) ? [model] : Object.keys(fields).filter((id) => belongsTo(id, name));
  return [harmless[name], ...ids.map((id) => fields[id])].join(" ");
}

/** Tells whether the spec lists a model. */
export function isInSpec(model: string): boolean {
  return Object.hasOwn(fields, model);
}

/** The route of a model's family; undefined for a family that the spec does not have. */
export function routeOf(model: string): RouteName | undefined {
  return families.find(([ids]) => ids.test(model))?.[1];
}

/** Tells whether a model is asked at this route. One of a family that the spec does not have may be asked at any. */
export function belongsTo(model: string, name: RouteName): boolean {
  return (routeOf(model) ?? name) === name;
}

/** The largest `max_tokens` that a model takes, as far as the spec says. */
export function maxTokensOf(model: string): number {
  return maxTokens.get(model) ?? Number.POSITIVE_INFINITY;
}

/** Tells whether a model has the fields that the spec lists for one model alone: `user_id` and `stream_options`. */
export function hasOwnFields(model: string): boolean {
  return model === "alpha-v4.1-flash";
}
