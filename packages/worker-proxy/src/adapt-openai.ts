import type { ProxyPlugin } from "./api/plugin.js";
import type { Body, RouteName } from "./api/routes.js";
import { definePlugin } from "./define-plugin.js";
import { Refusal, refuseAs } from "./refusals/refusal.js";

/** Fields that OpenAI clients send to any gateway. Omitting them changes little. */
const dropped: Partial<Record<RouteName, string>> = {
  // the proxy alone sets `user_id`: a user could send the id of another one
  chat: `n user seed parallel_tool_calls store metadata service_tier logprobs top_logprobs logit_bias
    safety_identifier prompt_cache_key prompt_cache_retention verbosity stream_options.include_obfuscation
    messages.refusal messages.annotations messages.audio messages.function_call messages.index messages.id
    messages.parsed messages.reasoning messages.reasoning_details messages.cache_control
    messages.content.cache_control messages.content.image_url.details messages.tool_calls.index
    messages.tool_calls.function.parsed_arguments tools.cache_control`,
  images: "n user response_format quality style",
};

const SCHEMA = "write the schema into the messages, or let the proxy's operator add `adaptJSONSchema()`";

/** Fields that the gateway does not have under any name, and what to send instead. */
const createAdvice = (): Readonly<Record<string, string>> => ({
  n: "one request has one result; for several images set `sequential_image_generation`",
  response_format: `ask for JSON in the messages; ${SCHEMA}`,
  "response_format.json_schema": `send { type: "json_object" }; ${SCHEMA}`,
  "response_format.schema": SCHEMA,
  functions: "use `tools`",
  function_call: "use `tools` and `tool_choice`",
});

/**
 * Accepts requests of OpenAI clients. It deletes fields that the model does not have and that change little, such as `seed`
 * or `user`; the response names them in `x-sluice-dropped-fields`. It rewrites `max_completion_tokens`, the role `developer`, and a
 * list of one `stop`. An `n` of 1 is deleted; any other is refused. The refusal of a field that the gateway does not have names
 * what to send instead. List it after `adaptJSONSchema()`.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, plugins: [adaptOpenAI()] });
 * ```
 */
export function adaptOpenAI(): ProxyPlugin {
  const advices = Object.entries(createAdvice());
  return definePlugin({
    adapt(body, hasField, route, model) {
      if (route === "chat") rewriteChat(body, model);
      const paths = dropped[route]?.split(/\s+/).filter((path) => !hasField(path)) ?? [];
      const gone = paths.filter((path) => dropField(body, path.split(".")));
      for (const [path, advice] of advices) if (!hasField(path)) refuseField(body, path, advice);
      return gone;
    },
  });
}

/** Deletes a field wherever it is. Returns true if one had a value. */
function dropField(owner: unknown, [name = "", ...rest]: readonly string[]): boolean {
  if (Array.isArray(owner)) return owner.map((entry) => dropField(entry, [name, ...rest])).some(Boolean);
  if (typeof owner !== "object" || owner === null || !Object.hasOwn(owner, name)) return false;
  const fields = owner as Body;
  const value = fields[name];
  if (rest.length > 0) return dropField(value, rest);
  // only an `n` of 1 changes nothing
  if (name === "n" && value !== 1 && value !== null) return false;
  delete fields[name];
  return value !== null;
}

/** @throws {Refusal} 400 for a body with this field */
function refuseField(body: Body, path: string, advice: string): void {
  let value: unknown = body;
  for (const name of path.split(".")) value = (value as Body | undefined)?.[name];
  if (value === undefined || value === null) return;
  const text = `"{param}" is not a field of this model; ${advice}`;
  throw refuseAs([400, text, "field_not_allowed"], "field_not_allowed", { param: path });
}

/** @throws {Refusal} 400 for two limits of tokens */
function rewriteChat(body: Body, model: string): void {
  const { stop, messages } = body;
  for (const message of Array.isArray(messages) ? messages : [])
    if (message?.role === "developer") message.role = "system";
  // these models have one text
  if (/^gamma-chat-/.test(model) && Array.isArray(stop) && stop.length === 1) body["stop"] = stop[0];
  const newer = body["max_completion_tokens"] ?? undefined;
  delete body["max_completion_tokens"];
  if (newer === undefined) return;
  if ((body["max_tokens"] ?? newer) !== newer)
    throw new Refusal("bad_field", {
      param: "max_completion_tokens",
      what: "means the same as max_tokens: send one",
    });
  body["max_tokens"] = newer;
}
