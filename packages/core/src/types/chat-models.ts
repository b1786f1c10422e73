/**
 * Table of the chat models (spec, POST /v1/chat/completions): the values and bounds that each model accepts. The checks
 * use this table. Use it for forms.
 *
 * @example
 * ```ts
 * const { maxTokens } = chatModels["delta-5.3"];
 * ```
 */
export const chatModels = {
  /** Chat with images, tools and optional thinking (spec, Model `alpha-v4.1-flash`). */
  "alpha-v4.1-flash": {
    /** Family in the names of the rules: `chat.alpha`. */
    family: "alpha",
    /** Values of `thinking.type`, the default first; none for a model without thinking. */
    thinking: ["enabled", "disabled"],
    /** Values of `reasoning_effort`; none for a model without the field. */
    reasoningEffort: ["none", "low", "high", "max"],
    /** Default of `reasoning_effort`. */
    reasoningEffortDefault: "high",
    /** Largest `max_tokens`. */
    maxTokens: 393_216,
    /** Largest `temperature`. */
    temperature: 2,
    /** True for a model with `frequency_penalty` and `presence_penalty`. */
    penalties: true,
    /** Largest number of `stop` sequences; `1` means a single string. */
    stop: 16,
    /** True for a model with image input. */
    seesImages: true,
    /** True for a model with tools. `unlisted`: the spec does not list them, so the model may ignore them. */
    tools: true,
    /** True for a model with `response_format: { type: "json_object" }`. */
    jsonMode: true,
    /** True for a model that reports the usage of a stream only with `stream_options.include_usage`. */
    usageOnRequest: true,
  },
  /** Chat without images and tools (spec, Model `gamma-chat-1-6-251015`). */
  "gamma-chat-1-6-251015": {
    family: "gamma",
    thinking: [],
    reasoningEffort: [],
    maxTokens: 8192,
    temperature: 2,
    penalties: true,
    stop: 1,
    seesImages: false,
    tools: false,
    jsonMode: false,
  },
  /** Chat that always thinks (spec, Model `delta-5.3`). */
  "delta-5.3": {
    family: "delta",
    thinking: ["enabled"],
    reasoningEffort: ["low", "high", "max"],
    maxTokens: 131_072,
    temperature: 1,
    penalties: false,
    stop: 4,
    seesImages: false,
    tools: "unlisted",
    jsonMode: false,
  },
} as const;

/** Id of a chat model at the gateway. */
export type ChatModel = keyof typeof chatModels;
