import * as v from "valibot";
import {
  assertAccepted,
  between,
  type CheckOptions,
  type CheckResult,
  checkByModel,
  emitWarnings,
  note,
  optionalObject,
  type RequestOf,
  type RequestsOf,
  type Rules,
  type Warn,
  warnOfAssumed,
  wholeNumber,
} from "../../base/validate.js";
import type { Connection } from "../../transport/send.js";
import { type ChatModel, chatModels } from "../../types/chat-models.js";
import { messages, textMessages, textOr } from "./message-schema.js";
import { toolChoice, tools } from "./tool-schema.js";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

const alpha = chatModels["alpha-v4.1-flash"];
const gamma = chatModels["gamma-chat-1-6-251015"];
const delta = chatModels["delta-5.3"];

const USER_ID = /^[\w-]{1,512}$/;

/* @__NO_SIDE_EFFECTS__ */
function stopTexts(maxItems: number): v.GenericSchema<string | readonly string[]> {
  const check = v.check(
    (stops: string[]) => stops.length <= maxItems,
    `must have at most ${maxItems} entries`,
  );
  note(check, () => ({ keywords: { maxItems } }));
  return textOr(v.pipe(v.array(v.string()), check));
}

/* @__NO_SIDE_EFFECTS__ */
function userId(): v.GenericSchema<string> {
  const message = "must be 1 to 512 letters of A-Z and a-z, digits, - and _";
  const check = v.check((id: string) => USER_ID.test(id), message);
  note(check, () => ({ keywords: { pattern: USER_ID } }));
  return v.pipe(v.string(), check);
}

const streamFields = {
  /**
   * Leave it out: `streamChat` sends `true`, and `completeChat` omits it.
   *
   * @default false
   */
  stream: v.optional(v.boolean()),
  /** Options of a streamed response. The spec lists them for `alpha-v4.1-flash`. */
  stream_options: v.optional(
    optionalObject({
      /**
       * Reports the tokens at the end of the stream. The gateway's default is `false`. Without this field, `streamChat`
       * sends `true` to `alpha-v4.1-flash`, or follows the client's `includeUsage`.
       */
      include_usage: v.optional(v.boolean()),
    }),
  ),
} as const;

const responseFormats = v.picklist(["text", "json_object"], "must be text or json_object");
note(responseFormats, () => ({
  message: "must be text or json_object; for a JSON Schema send json_object and the schema in the messages",
}));

const oneText = v.string("must be one text");
note(oneText, () => ({ message: "must be one text: this model takes no list" }));

const alphaRequest = v.object({
  /** The model. It decides the other fields. */
  model: v.picklist(["alpha-v4.1-flash"]),
  /** The conversation so far, oldest first. At least one message. */
  messages,
  /** Thinking before the response, returned as `reasoning_content`. It may be `null`. */
  thinking: v.nullish(
    optionalObject({
      /** Switches thinking on or off. @default "enabled" */
      type: v.optional(v.picklist(alpha.thinking)),
    }),
  ),
  /** Effort of thinking. `"none"` switches thinking off. @default "high" */
  reasoning_effort: v.optional(v.picklist(alpha.reasoningEffort)),
  /** Most tokens of the response. Whole number from 1 to 393,216. The spec shows no default. */
  max_tokens: v.optional(wholeNumber(1, alpha.maxTokens)),
  /** Format of the response. */
  response_format: v.optional(
    optionalObject({
      /**
       * Format of the response. `"json_object"` gives JSON; the messages must ask for JSON too.
       *
       * @default "text"
       */
      type: v.optional(responseFormats),
    }),
  ),
  /** Texts that end the response when the model writes one of them. One text, or a list of at most 16. */
  stop: v.optional(stopTexts(alpha.stop)),
  ...streamFields,
  /**
   * Randomness of the response: low values are more deterministic, high values more varied. From 0 to 2. Ignored while
   * thinking is on.
   *
   * @default 1
   */
  temperature: v.optional(between(0, alpha.temperature)),
  /**
   * Share of the likeliest words that the model chooses from. From 0 to 1. While thinking is on, a value below 0.95
   * counts as 0.95; while it is off, the value counts as 1.
   *
   * @default 1
   */
  top_p: v.optional(between(0, 1)),
  /** Functions that the model may call. */
  tools,
  /**
   * Use of `tools`. `"none"`: no call; `"auto"`: the model decides; `"required"`: at least one call; an object: this
   * function. The spec shows no default.
   */
  tool_choice: toolChoice,
  /**
   * Penalty for words by their frequency so far: positive values repeat less. From -2 to 2. Ignored while thinking is
   * on.
   *
   * @default 0
   */
  frequency_penalty: v.optional(between(-2, 2)),
  /**
   * Penalty for words that already occurred: positive values favor new topics. From -2 to 2. Ignored while thinking is
   * on.
   *
   * @default 0
   */
  presence_penalty: v.optional(between(-2, 2)),
  /**
   * Stable id of the app's user, for content safety and separate caches. 1 to 512 characters of A-Z, a-z, 0-9, `-` and
   * `_`. Never a name or a mail address.
   */
  user_id: v.optional(userId()),
});

/**
 * Body of a request to `alpha-v4.1-flash` (spec, Model `alpha-v4.1-flash`). Thinking is on unless it is switched off.
 */
export type AlphaChatRequest = RequestOf<typeof alphaRequest>;
/** Parameters of `alpha-v4.1-flash` (spec, Model `alpha-v4.1-flash`): its request without the conversation. */
export type AlphaChatParams = ParamsOf<AlphaChatRequest>;

const gammaRequest = v.object({
  /** The model. It decides the other fields. */
  model: v.picklist(["gamma-chat-1-6-251015"]),
  /** The conversation so far, oldest first. At least one message. Text only. */
  messages: textMessages,
  /** Most tokens of the response. Whole number from 1 to 8,192. */
  max_tokens: v.optional(wholeNumber(1, gamma.maxTokens)),
  /** Randomness of the response: low values are more deterministic, high values more varied. From 0 to 2. */
  temperature: v.optional(between(0, gamma.temperature)),
  /** Share of the likeliest words that the model chooses from. From 0 to 1. */
  top_p: v.optional(between(0, 1)),
  /** Penalty for words by their frequency so far: positive values repeat less. From -2 to 2. */
  frequency_penalty: v.optional(between(-2, 2)),
  /** Penalty for words that already occurred: positive values favor new topics. From -2 to 2. */
  presence_penalty: v.optional(between(-2, 2)),
  ...streamFields,
  /** Text that ends the response when the model writes it. One text, not a list. */
  stop: v.optional(oneText),
});

/** Body of a request to `gamma-chat-1-6-251015` (spec, Model `gamma-chat-1-6-251015`). The spec shows no defaults. */
export type GammaChatRequest = RequestOf<typeof gammaRequest>;
/** Parameters of `gamma-chat-1-6-251015` (spec, Model `gamma-chat-1-6-251015`): its request without the conversation. */
export type GammaChatParams = ParamsOf<GammaChatRequest>;

const deltaRequest = v.object({
  /** The model. It decides the other fields. */
  model: v.picklist(["delta-5.3"]),
  /** The conversation so far, oldest first. At least one message. Text only. */
  messages: textMessages,
  /** Thinking before the response, returned as `reasoning_content`. It cannot be switched off. */
  thinking: v.optional(
    v.object({
      /** `"enabled"` is the only value. */
      type: v.picklist(delta.thinking),
    }),
  ),
  /** Effort of thinking. This model does not support `"none"`. The spec shows no default. */
  reasoning_effort: v.optional(v.picklist(delta.reasoningEffort)),
  /** Most tokens of the response. Whole number from 1 to 131,072. The spec shows no default. */
  max_tokens: v.optional(wholeNumber(1, delta.maxTokens)),
  /** Randomness of the response: low values are more deterministic. From 0 to 1. The name is our assumption. */
  temperature: v.optional(v.number()),
  /** Share of the likeliest words that the model chooses from. From 0 to 1. The name is our assumption. */
  top_p: v.optional(v.number()),
  /**
   * Texts that end the response when the model writes one of them. One text, or a list of at most 4. The name is our
   * assumption.
   */
  stop: v.optional(textOr<readonly string[]>(v.array(v.string()))),
  ...streamFields,
  /** Functions that the model may call. The spec does not list them for this model, so the model may ignore them. */
  tools,
  /**
   * Use of `tools`. `"none"`: no call; `"auto"`: the model decides; `"required"`: at least one call; an object: this
   * function. The spec does not list it for this model.
   */
  tool_choice: toolChoice,
});

/** The fields of `delta-5.3` that the spec does not name (wire, 1.31). */
const deltaAssumed = v.object({
  temperature: v.optional(between(0, delta.temperature)),
  top_p: v.optional(between(0, 1)),
  stop: v.optional(stopTexts(delta.stop)),
});

/**
 * Body of a request to `delta-5.3` (spec, Model `delta-5.3`), which always thinks. The spec leaves two numbers from 0 to
 * 1 and a list of at most 4 entries without names: `temperature`, `top_p` and `stop` are our assumption, and so are
 * `tools`.
 */
export type DeltaChatRequest = RequestOf<typeof deltaRequest>;
/** Parameters of `delta-5.3` (spec, Model `delta-5.3`): its request without the conversation. */
export type DeltaChatParams = ParamsOf<DeltaChatRequest>;

/**
 * Schema of a request to each chat model.
 */
export const chatRequests = {
  /** Request to `alpha-v4.1-flash` (spec, Model `alpha-v4.1-flash`). */
  "alpha-v4.1-flash": alphaRequest as v.GenericSchema<AlphaChatRequest>,
  /** Request to `gamma-chat-1-6-251015` (spec, Model `gamma-chat-1-6-251015`). */
  "gamma-chat-1-6-251015": gammaRequest as v.GenericSchema<GammaChatRequest>,
  /** Request to `delta-5.3` (spec, Model `delta-5.3`). */
  "delta-5.3": deltaRequest as v.GenericSchema<DeltaChatRequest>,
} as const;

const rules: Rules = { resource: "chat", models: chatModels, schemas: chatRequests };

/** The request of each chat model. */
export type ChatRequests = RequestsOf<typeof chatRequests>;

/** The parameters of each chat model: its request without the conversation. */
export type ChatParams = { readonly [Model in keyof ChatRequests]: ParamsOf<ChatRequests[Model]> };

/** Request of `completeChat` and `streamChat`, discriminated by `model`; the gateway's own field names. */
export type ChatRequest = ChatRequests[ChatModel];

type ParamsOf<Request> = Omit<Request, "model" | "messages" | "stream">;
type KeyOfEach<Union> = Union extends unknown ? keyof Union : never;
type SharedName = "max_tokens" | "temperature" | "top_p" | "stop" | "stream_options";

/**
 * The parameters that all chat models share, within the bounds of every model. For a `model` that may be any of them.
 */
export interface SharedChatParams
  extends Pick<GammaChatRequest, "top_p" | "stop" | "stream_options">,
    Readonly<Partial<Record<Exclude<KeyOfEach<ChatParams[ChatModel]>, SharedName>, undefined>>> {
  /** Most tokens of the response. Whole number from 1 to 8,192, which every model accepts. */
  readonly max_tokens?: number | undefined;
  /** Randomness of the response: low values are more deterministic. From 0 to 1, which every model accepts. */
  readonly temperature?: number | undefined;
}

/**
 * Checks a chat request by the rules of its model, without sending anything.
 *
 * @returns `issues`: reasons why the gateway would reject the request. `warnings`: parts that it would ignore
 */
export function checkChatRequest(request: unknown): CheckResult {
  return checkByModel(request, rules, addWarnings);
}

/**
 * Checks a request before it is sent. Emits the warnings in development.
 *
 * @throws {ValidationError} if the request breaks a rule
 */
export function assertChatRequest(
  client: Pick<Connection, "warn">,
  request: unknown,
  options: CheckOptions,
): void {
  assertAccepted(request, rules, options);
  try {
    if (process.env.NODE_ENV !== "production" && options.checks !== false)
      emitWarnings(request as ChatRequest, rules, addWarnings, client.warn);
  } catch {}
}

function addWarnings(request: ChatRequest, warn: Warn): void {
  if (request.model === "delta-5.3") warnOfAssumed(deltaAssumed, request, warn);
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
