import * as v from "valibot";
import {
  between,
  checkByModel,
  type Findings,
  notEmpty,
  optionsOf,
  rule,
  type Same,
  type Warn,
  wholeNumber,
} from "../../base/validate.js";
import { type ChatModel, chatModels } from "../../vocabulary/models.js";
import type { ChatRequest, ChatRequests } from "./request-body.js";

const alpha = chatModels["alpha-v4.1-flash"];
const gamma = chatModels["gamma-chat-1-6-251015"];
const delta = chatModels["delta-5.3"];

const IMAGE_DATA_URL = /^data:image\/(?:jpe?g|png|gif|webp);base64,[\w+/]+={0,2}$/i;

/** A text part of a message's `content`. */
export const textPart = v.object({ type: v.literal("text"), text: v.string() });

/** An image part: a public http(s) URL, or a Base64 data URL of a JPEG, PNG, GIF or WebP image. */
export const imagePart = v.object({
  type: v.literal("image_url"),
  image_url: v.object({
    url: v.pipe(
      v.string(),
      rule(
        "image-url",
        isImageURL,
        "must be an http(s) URL or a Base64 data URL of a JPEG, PNG, GIF or WebP image",
      ),
    ),
    detail: v.optional(v.picklist(["low", "high", "original", "auto"])),
  }),
});

/** Returns true if `url` is valid in an image part. */
export function isImageURL(url: string): boolean {
  return IMAGE_DATA_URL.test(url) || (/^https?:/i.test(url) && URL.canParse(url));
}

const anyPart = v.variant("type", [textPart, imagePart]);
const textParts = v.array(
  v.variant("type", [textPart], "images are accepted only in user messages of models with image input"),
);

/** Schema of one text or a list. */
// lazy instead of a union: a union would report "neither fits" and not the path of the broken part
function textOr<List>(list: v.GenericSchema<List>): v.GenericSchema<string | List> {
  return v.lazy((input) => (Array.isArray(input) ? list : v.string()) as v.GenericSchema<string | List>);
}

const textContent = textOr(textParts);
const partsContent = textOr(v.array(anyPart));

/** A tool call in the form in which the model made it and it is sent back: `function.arguments` is JSON as text. */
export const toolCall = v.object({
  id: v.string(),
  type: v.literal("function"),
  function: v.object({ name: v.string(), arguments: v.string() }),
});

const commonFields = {
  name: v.optional(v.string()),
  reasoning_content: v.nullish(v.string()),
  tool_call_id: v.optional(v.string()),
  tool_calls: v.nullish(v.array(toolCall)),
};

const systemMessage = v.object({ role: v.literal("system"), content: textContent, ...commonFields });
const assistantMessage = v.object({
  role: v.literal("assistant"),
  content: v.nullish(textContent),
  ...commonFields,
});
const contentOrCalls = rule<v.InferOutput<typeof assistantMessage>>(
  "content",
  ({ content, tool_calls }) => typeof content === "string" || !!content || !!tool_calls?.length,
  "must be text or parts; it may be null or absent only beside tool_calls",
);

const toolMessage = v.object({
  role: v.literal("tool"),
  content: textContent,
  ...commonFields,
  tool_call_id: v.pipe(v.string(), notEmpty()),
});

function messagesOf<Content>(userContent: v.GenericSchema<Content>) {
  const message = v.variant("role", [
    systemMessage,
    v.object({ role: v.literal("user"), content: userContent, ...commonFields }),
    v.pipe(assistantMessage, v.forward(contentOrCalls, ["content"])),
    toolMessage,
  ]);
  return v.pipe(v.array(message), notEmpty());
}

/** A tool that the model may call: `function.parameters` is a JSON Schema. */
export const toolDefinition = v.object({
  type: v.literal("function"),
  function: v.object({
    name: v.pipe(v.string(), notEmpty()),
    description: v.optional(v.string()),
    parameters: v.custom<Record<string, unknown>>(
      (schema) => typeof schema === "object" && schema !== null && !Array.isArray(schema),
      "must be a JSON Schema object",
    ),
    strict: v.optional(v.boolean()),
  }),
});

const namedToolChoice = v.object({
  type: v.literal("function"),
  function: v.object({ name: v.pipe(v.string(), notEmpty()) }),
});
const toolChoice: v.GenericSchema<"none" | "auto" | "required" | v.InferInput<typeof namedToolChoice>> =
  v.lazy((input) =>
    typeof input === "object" && input !== null ? namedToolChoice : v.picklist(["none", "auto", "required"]),
  );

const stopOf = (most: number) =>
  textOr(
    v.pipe(
      v.array(v.string()),
      v.check((stops) => stops.length <= most, `must have at most ${most} entries`),
    ),
  );

const tools = { tools: v.optional(v.array(toolDefinition)), tool_choice: v.optional(toolChoice) };
const shared = {
  stream: v.optional(v.boolean()),
  stream_options: v.optional(optionsOf({ include_usage: v.optional(v.boolean()) })),
};

const responseFormat = v.picklist(
  ["text", "json_object"],
  "must be text or json_object; for a JSON Schema send json_object and the schema in the messages",
);

/** A request to `alpha-v4.1-flash` (spec, POST /v1/chat/completions). */
const alphaRequest = v.object({
  model: v.literal("alpha-v4.1-flash"),
  messages: messagesOf(partsContent),
  thinking: v.nullish(optionsOf({ type: v.optional(v.picklist(alpha.thinking)) })),
  reasoning_effort: v.optional(v.picklist(alpha.reasoningEffort)),
  max_tokens: v.optional(wholeNumber(1, alpha.maxTokens)),
  response_format: v.optional(optionsOf({ type: v.optional(responseFormat) })),
  stop: v.optional(stopOf(alpha.stop)),
  ...shared,
  temperature: v.optional(between(0, alpha.temperature)),
  top_p: v.optional(between(0, 1)),
  ...tools,
  frequency_penalty: v.optional(between(-2, 2)),
  presence_penalty: v.optional(between(-2, 2)),
  user_id: v.optional(
    v.pipe(
      v.string(),
      v.check((id) => /^[\w-]{1,512}$/.test(id), "must be 1 to 512 letters of A-Z and a-z, digits, - and _"),
    ),
  ),
});

/** A request to `gamma-chat-1-6-251015`. */
const gammaRequest = v.object({
  model: v.literal("gamma-chat-1-6-251015"),
  messages: messagesOf(textContent),
  max_tokens: v.optional(wholeNumber(1, gamma.maxTokens)),
  temperature: v.optional(between(0, gamma.temperature)),
  top_p: v.optional(between(0, 1)),
  frequency_penalty: v.optional(between(-2, 2)),
  presence_penalty: v.optional(between(-2, 2)),
  ...shared,
  stop: v.optional(v.string("must be one text: this model takes no list")),
});

/**
 * A request to `delta-5.3`. The spec mentions two numeric fields (0 to 1) and an array (at most 4) without their names:
 * `temperature`, `top_p` and `stop` are our assumption, and so are the tools.
 */
const deltaRequest = v.object({
  model: v.literal("delta-5.3"),
  messages: messagesOf(textContent),
  thinking: v.optional(v.object({ type: v.picklist(delta.thinking) })),
  reasoning_effort: v.optional(v.picklist(delta.reasoningEffort)),
  max_tokens: v.optional(wholeNumber(1, delta.maxTokens)),
  temperature: v.optional(between(0, delta.temperature)),
  top_p: v.optional(between(0, 1)),
  stop: v.optional(stopOf(delta.stop)),
  ...shared,
  ...tools,
});

/** Schema of a request to each chat model. */
export const chatRequests: { readonly [Model in ChatModel]: v.GenericSchema<ChatRequests[Model]> } = {
  "alpha-v4.1-flash": alphaRequest,
  "gamma-chat-1-6-251015": gammaRequest,
  "delta-5.3": deltaRequest,
};

/** Compares each declared request with its schema, both ways: a field that one of them lacks does not compile. */
type _Declared = [
  Same<ChatRequests["alpha-v4.1-flash"], typeof alphaRequest>,
  Same<ChatRequests["gamma-chat-1-6-251015"], typeof gammaRequest>,
  Same<ChatRequests["delta-5.3"], typeof deltaRequest>,
];

/**
 * Checks a chat request by the rules of its model, without sending anything.
 *
 * @returns `issues`, for which the gateway would refuse the request, and `warnings` about parts that it would ignore
 * @example
 * ```ts
 * const { issues } = checkChatRequest({ model: "delta-5.3", messages: [], max_tokens: 0 });
 * // issues[0] = { path: "messages", message: "must not be empty (…)", rule: "chat.delta.messages" }
 * ```
 */
export function checkChatRequest(request: unknown): Findings {
  return checkByModel(request, "chat", chatModels, chatRequests, warnOf);
}

function warnOf(request: ChatRequest, warn: Warn): void {
  if (request.model === "delta-5.3" && request.tools)
    warn("tools", "tools-unlisted", "the spec does not list tools for this model; they may be ignored");
  if (request.model !== "alpha-v4.1-flash") {
    if (request.stream_options)
      warn("stream_options", "stream-options-unlisted", "the spec does not list it for this model");
    return;
  }

  const effortOff = request.reasoning_effort === "none";
  if (request.thinking?.type === "enabled" && effortOff)
    warn(
      "reasoning_effort",
      "thinking-contradicted",
      '"none" turns off the thinking that `thinking` turns on',
    );
  if (request.thinking?.type !== "disabled" && !effortOff) {
    for (const field of ["temperature", "frequency_penalty", "presence_penalty"] as const)
      if (request[field] !== undefined)
        warn(field, `${field.replace("_", "-")}-ignored`, "has no effect while thinking is on");
    if (request.top_p !== undefined && request.top_p < 0.95)
      warn("top_p", "top-p-raised", "is treated as 0.95 while thinking is on");
  }
  if (request.response_format?.type === "json_object" && !/json/i.test(JSON.stringify(request.messages)))
    warn("messages", "json-not-asked", "JSON mode needs a message that asks for JSON");
}
