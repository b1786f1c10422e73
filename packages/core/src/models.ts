/**
 * What each chat model accepts (spec, `POST /v1/chat/completions`), as data: the schemas, the request types and
 * any form are made from this one table. A field that a row does not name is not accepted by that model.
 */
export const chatModels = {
  "alpha-v4.1-flash": {
    family: "alpha",
    thinking: ["enabled", "disabled"],
    thinkingDefault: "enabled",
    reasoningEffort: ["none", "low", "high", "max"],
    reasoningEffortDefault: "high",
    maxTokens: 393_216,
    /** How many `stop` sequences may be given; `1` means a single string. */
    stop: 16,
    imageInput: true,
    tools: true,
    jsonMode: true,
  },
  "gamma-chat-1-6-251015": {
    family: "gamma",
    thinking: [],
    reasoningEffort: [],
    maxTokens: 8192,
    stop: 1,
    imageInput: false,
    tools: false,
    jsonMode: false,
  },
  "delta-5.3": {
    family: "delta",
    thinking: ["enabled"],
    thinkingDefault: "enabled",
    reasoningEffort: ["low", "high", "max"],
    maxTokens: 131_072,
    stop: 4,
    imageInput: false,
    tools: "unlisted",
    jsonMode: false,
  },
} as const;

/** The id of a chat model, as the gateway spells it. */
export type ChatModel = keyof typeof chatModels;
