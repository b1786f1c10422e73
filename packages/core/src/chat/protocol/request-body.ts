/* The bodies of chat requests by hand, for the editor: `schema.ts` compares each with its schema. */

import type { ChatModel } from "../../vocabulary/models.js";

/** A piece of text in a message's `content` (spec, Model `alpha-v4.1-flash`). */
export interface TextPart {
  /** Kind of the part (spec, Model `alpha-v4.1-flash`). */
  readonly type: "text";
  /** The text itself (spec, Model `alpha-v4.1-flash`). */
  readonly text: string;
}

/** An image in a user message's `content`, for models that see images (spec, Model `alpha-v4.1-flash`). */
export interface ImagePart {
  /** Kind of the part (spec, Model `alpha-v4.1-flash`). */
  readonly type: "image_url";
  /** The image (spec, Model `alpha-v4.1-flash`). */
  readonly image_url: {
    /** Public http(s) URL, or Base64 data URL of a JPEG, PNG, GIF or WebP image (spec, Model `alpha-v4.1-flash`). */
    readonly url: string;
    /** Detail in which the model sees the image (spec, Model `alpha-v4.1-flash`). @default "auto" */
    readonly detail?: "low" | "high" | "original" | "auto" | undefined;
  };
}

/** A tool call as the model made it, and as it is sent back (spec, Chat completion). */
export interface ToolCall {
  /** Id of the call; the `tool` message with its result carries it as `tool_call_id` (spec, Chat completion). */
  readonly id: string;
  /** Kind of tool; functions are the only kind (spec, Chat completion). */
  readonly type: "function";
  /** The function to call and its arguments (spec, Chat completion). */
  readonly function: {
    /** Name of the function, as in `tools` (spec, Chat completion). */
    readonly name: string;
    /** Arguments as JSON text. The text comes from the model and may be invalid JSON (spec, Chat completion). */
    readonly arguments: string;
  };
}

/** A function that the model may call (spec, Model `alpha-v4.1-flash`). */
export interface ToolDefinition {
  /** Kind of tool; functions are the only kind (spec, Model `alpha-v4.1-flash`). */
  readonly type: "function";
  /** The function that the model may call (spec, Model `alpha-v4.1-flash`). */
  readonly function: {
    /** Name of the function. Not empty (spec, Model `alpha-v4.1-flash`). */
    readonly name: string;
    /** Explanation for the model: what the function does and when to call it (spec, Model `alpha-v4.1-flash`). */
    readonly description?: string | undefined;
    /** JSON Schema of the arguments. An object, not a JSON text (spec, Model `alpha-v4.1-flash`). */
    readonly parameters: { readonly [x: string]: unknown };
    /**
     * Requests arguments that follow `parameters` exactly. The spec shows no default (spec, Model `alpha-v4.1-flash`).
     */
    readonly strict?: boolean | undefined;
  };
}

/** The choice of one function that the model has to call (spec, Model `alpha-v4.1-flash`). */
export interface NamedToolChoice {
  /** Kind of tool; functions are the only kind (spec, Model `alpha-v4.1-flash`). */
  readonly type: "function";
  /** The function to call (spec, Model `alpha-v4.1-flash`). */
  readonly function: {
    /** Name of the function, as in `tools`. Not empty (spec, Model `alpha-v4.1-flash`). */
    readonly name: string;
  };
}

interface MessageFields {
  /** Name of the participant, to tell participants with the same role apart (spec, Model `alpha-v4.1-flash`). */
  readonly name?: string | undefined;
  /**
   * Thinking of an earlier answer. Send it back unchanged in conversations of several turns with tools (spec, Model
   * `alpha-v4.1-flash`).
   */
  readonly reasoning_content?: string | null | undefined;
  /**
   * Tool calls of an earlier answer. Each one needs a `tool` message with its result (spec, Model
   * `alpha-v4.1-flash`).
   */
  readonly tool_calls?: readonly ToolCall[] | null | undefined;
}

interface UntiedMessageFields extends MessageFields {
  /** Id of the tool call that a message answers. Required in `tool` messages (spec, Model `alpha-v4.1-flash`). */
  readonly tool_call_id?: string | undefined;
}

/** Instructions for the model, before the conversation. */
export interface SystemMessage extends UntiedMessageFields {
  /** Author of the message. `system`: the app (spec, Model `alpha-v4.1-flash`). */
  readonly role: "system";
  /** Text of the message, or its text parts. Images are for user messages only (spec, Model `alpha-v4.1-flash`). */
  readonly content: string | readonly TextPart[];
}

/** An earlier answer of the model. */
export interface AssistantMessage extends UntiedMessageFields {
  /** Author of the message. `assistant`: the model (spec, Model `alpha-v4.1-flash`). */
  readonly role: "assistant";
  /**
   * Text of the answer, or its text parts. `null` or absent only beside `tool_calls` (spec, Model `alpha-v4.1-flash`).
   */
  readonly content?: string | readonly TextPart[] | null | undefined;
}

/** The result of a tool call. */
export interface ToolMessage extends MessageFields {
  /** Author of the message. `tool`: the function that the model called (spec, Model `alpha-v4.1-flash`). */
  readonly role: "tool";
  /** Result of the call, as text or text parts (spec, Model `alpha-v4.1-flash`). */
  readonly content: string | readonly TextPart[];
  /** Id of the tool call that this message answers. Not empty (spec, Model `alpha-v4.1-flash`). */
  readonly tool_call_id: string;
}

/** A message of the user to a model that reads text only. */
export interface TextUserMessage extends UntiedMessageFields {
  /** Author of the message. `user`: the person who asks (spec, POST /v1/chat/completions). */
  readonly role: "user";
  /** Text of the message, or its text parts. This model accepts no images (spec, POST /v1/chat/completions). */
  readonly content: string | readonly TextPart[];
}

/** A message of the user to a model that also sees images. */
export interface UserMessage extends UntiedMessageFields {
  /** Author of the message. `user`: the person who asks (spec, Model `alpha-v4.1-flash`). */
  readonly role: "user";
  /** Text of the message, or its parts: texts and images (spec, Model `alpha-v4.1-flash`). */
  readonly content: string | readonly (TextPart | ImagePart)[];
}

/** A message for a model that reads text only. */
export type TextMessage = SystemMessage | AssistantMessage | ToolMessage | TextUserMessage;
/** One message of a request's `messages`, discriminated by `role`. */
export type ChatRequestMessage = SystemMessage | AssistantMessage | ToolMessage | UserMessage;

interface StreamParams {
  /** Options of a streamed answer. The spec lists them for `alpha-v4.1-flash` (spec, Model `alpha-v4.1-flash`). */
  readonly stream_options?:
    | {
        /**
         * Reports the tokens used, at the end of the stream. The gateway's default is `false`; `streamChat` sends
         * `true` to `alpha-v4.1-flash`, or as `includeUsage` of the client says, unless this field is set (spec, Model
         * `alpha-v4.1-flash`).
         */
        readonly include_usage?: boolean | undefined;
      }
    | undefined;
}

/** Parameters of `alpha-v4.1-flash` (spec, Model `alpha-v4.1-flash`). Thinking is on unless it is switched off. */
export interface AlphaChatParams extends StreamParams {
  /**
   * Thinking before the answer, which comes as `reasoning_content`. It may be `null` (spec, Model
   * `alpha-v4.1-flash`).
   */
  readonly thinking?:
    | {
        /** Switches thinking on or off (spec, Model `alpha-v4.1-flash`). @default "enabled" */
        readonly type?: "enabled" | "disabled" | undefined;
      }
    | null
    | undefined;
  /** Effort of thinking. `"none"` switches thinking off (spec, Model `alpha-v4.1-flash`). @default "high" */
  readonly reasoning_effort?: "none" | "low" | "high" | "max" | undefined;
  /**
   * Most tokens of the answer. Whole number from 1 to 393,216. The spec shows no default (spec, Model
   * `alpha-v4.1-flash`).
   */
  readonly max_tokens?: number | undefined;
  /** Format of the answer (spec, Model `alpha-v4.1-flash`). */
  readonly response_format?:
    | {
        /**
         * Format of the answer. `"json_object"` gives JSON; the messages must ask for JSON too (spec, Model
         * `alpha-v4.1-flash`).
         *
         * @default "text"
         */
        readonly type?: "text" | "json_object" | undefined;
      }
    | undefined;
  /**
   * Texts that end the answer where the model writes one of them. One text, or a list of at most 16 (spec, Model
   * `alpha-v4.1-flash`).
   */
  readonly stop?: string | readonly string[] | undefined;
  /**
   * Randomness of the answer: 0 repeats itself most, higher values vary more. From 0 to 2. Has no effect while
   * thinking is on (spec, Model `alpha-v4.1-flash`).
   *
   * @default 1
   */
  readonly temperature?: number | undefined;
  /**
   * Share of the likeliest words that the model chooses from. From 0 to 1. While thinking is on, a value below 0.95
   * counts as 0.95; while it is off, the value counts as 1 (spec, Model `alpha-v4.1-flash`).
   *
   * @default 1
   */
  readonly top_p?: number | undefined;
  /** Functions that the model may call (spec, Model `alpha-v4.1-flash`). */
  readonly tools?: readonly ToolDefinition[] | undefined;
  /**
   * Use of `tools`. `"none"`: no call; `"auto"`: the model decides; `"required"`: at least one call; an object: this
   * function. The spec shows no default (spec, Model `alpha-v4.1-flash`).
   */
  readonly tool_choice?: "none" | "auto" | "required" | NamedToolChoice | undefined;
  /**
   * Penalty for words by how often they have occurred: positive values repeat less. From -2 to 2. Has no effect while
   * thinking is on (spec, Model `alpha-v4.1-flash`).
   *
   * @default 0
   */
  readonly frequency_penalty?: number | undefined;
  /**
   * Penalty for words that have occurred at all: positive values bring new topics. From -2 to 2. Has no effect while
   * thinking is on (spec, Model `alpha-v4.1-flash`).
   *
   * @default 0
   */
  readonly presence_penalty?: number | undefined;
  /**
   * Stable id of the app's user, for content safety and separate caches. 1 to 512 characters of A-Z, a-z, 0-9, `-`
   * and `_`. Never a name or a mail address (spec, Model `alpha-v4.1-flash`).
   */
  readonly user_id?: string | undefined;
}

/** Parameters of `gamma-chat-1-6-251015` (spec, Model `gamma-chat-1-6-251015`). The spec shows no defaults. */
export interface GammaChatParams extends StreamParams {
  /** Most tokens of the answer. Whole number from 1 to 8,192 (spec, Model `gamma-chat-1-6-251015`). */
  readonly max_tokens?: number | undefined;
  /**
   * Randomness of the answer: 0 repeats itself most, higher values vary more. From 0 to 2 (spec, Model
   * `gamma-chat-1-6-251015`).
   */
  readonly temperature?: number | undefined;
  /** Share of the likeliest words that the model chooses from. From 0 to 1 (spec, Model `gamma-chat-1-6-251015`). */
  readonly top_p?: number | undefined;
  /**
   * Penalty for words by how often they have occurred: positive values repeat less. From -2 to 2 (spec, Model
   * `gamma-chat-1-6-251015`).
   */
  readonly frequency_penalty?: number | undefined;
  /**
   * Penalty for words that have occurred at all: positive values bring new topics. From -2 to 2 (spec, Model
   * `gamma-chat-1-6-251015`).
   */
  readonly presence_penalty?: number | undefined;
  /**
   * Text that ends the answer where the model writes it. One text, not a list (spec, Model `gamma-chat-1-6-251015`).
   */
  readonly stop?: string | undefined;
}

/**
 * Parameters of `delta-5.3` (spec, Model `delta-5.3`), which always thinks. The spec leaves two numbers from 0 to 1 and
 * a list of at most 4 entries without names: `temperature`, `top_p` and `stop` are our assumption, and so are `tools`.
 */
export interface DeltaChatParams extends StreamParams {
  /**
   * Thinking before the answer, which comes as `reasoning_content`. It cannot be switched off (spec, Model
   * `delta-5.3`).
   */
  readonly thinking?:
    | {
        /** `"enabled"` is the only value (spec, Model `delta-5.3`). */
        readonly type: "enabled";
      }
    | undefined;
  /** Effort of thinking. This model has no `"none"`. The spec shows no default (spec, Model `delta-5.3`). */
  readonly reasoning_effort?: "low" | "high" | "max" | undefined;
  /** Most tokens of the answer. Whole number from 1 to 131,072. The spec shows no default (spec, Model `delta-5.3`). */
  readonly max_tokens?: number | undefined;
  /**
   * Randomness of the answer: 0 repeats itself most. From 0 to 1. The name is our assumption (spec, Model
   * `delta-5.3`).
   */
  readonly temperature?: number | undefined;
  /**
   * Share of the likeliest words that the model chooses from. From 0 to 1. The name is our assumption (spec, Model
   * `delta-5.3`).
   */
  readonly top_p?: number | undefined;
  /**
   * Texts that end the answer where the model writes one of them. One text, or a list of at most 4. The name is our
   * assumption (spec, Model `delta-5.3`).
   */
  readonly stop?: string | readonly string[] | undefined;
  /**
   * Functions that the model may call. The spec does not list them for this model, which may ignore them (spec, Model
   * `delta-5.3`).
   */
  readonly tools?: readonly ToolDefinition[] | undefined;
  /**
   * Use of `tools`. `"none"`: no call; `"auto"`: the model decides; `"required"`: at least one call; an object: this
   * function. The spec does not list it for this model (spec, Model `delta-5.3`).
   */
  readonly tool_choice?: "none" | "auto" | "required" | NamedToolChoice | undefined;
}

interface StreamField {
  /**
   * Leave it out: `streamChat` sends `true`, and `completeChat` nothing (spec, POST /v1/chat/completions).
   *
   * @default false
   */
  readonly stream?: boolean | undefined;
}

/** Body of a request to `alpha-v4.1-flash` (spec, Model `alpha-v4.1-flash`). */
export interface AlphaChatRequest extends AlphaChatParams, StreamField {
  /** The model that answers. It decides which other fields there are (spec, Model `alpha-v4.1-flash`). */
  readonly model: "alpha-v4.1-flash";
  /** The conversation so far, oldest first. At least one message (spec, Model `alpha-v4.1-flash`). */
  readonly messages: readonly ChatRequestMessage[];
}

/** Body of a request to `gamma-chat-1-6-251015` (spec, Model `gamma-chat-1-6-251015`). */
export interface GammaChatRequest extends GammaChatParams, StreamField {
  /** The model that answers. It decides which other fields there are (spec, Model `gamma-chat-1-6-251015`). */
  readonly model: "gamma-chat-1-6-251015";
  /**
   * The conversation so far, oldest first. At least one message. This model reads text only (spec, Model
   * `gamma-chat-1-6-251015`).
   */
  readonly messages: readonly TextMessage[];
}

/** Body of a request to `delta-5.3` (spec, Model `delta-5.3`). */
export interface DeltaChatRequest extends DeltaChatParams, StreamField {
  /** The model that answers. It decides which other fields there are (spec, Model `delta-5.3`). */
  readonly model: "delta-5.3";
  /**
   * The conversation so far, oldest first. At least one message. This model reads text only (spec, Model
   * `delta-5.3`).
   */
  readonly messages: readonly TextMessage[];
}

/** The request of each chat model. */
export interface ChatRequests {
  /** Request to `alpha-v4.1-flash` (spec, Model `alpha-v4.1-flash`). */
  readonly "alpha-v4.1-flash": AlphaChatRequest;
  /** Request to `gamma-chat-1-6-251015` (spec, Model `gamma-chat-1-6-251015`). */
  readonly "gamma-chat-1-6-251015": GammaChatRequest;
  /** Request to `delta-5.3` (spec, Model `delta-5.3`). */
  readonly "delta-5.3": DeltaChatRequest;
}

/** The parameters of each chat model: its request without the conversation. */
export interface ChatParams {
  /** Parameters of `alpha-v4.1-flash` (spec, Model `alpha-v4.1-flash`). */
  readonly "alpha-v4.1-flash": AlphaChatParams;
  /** Parameters of `gamma-chat-1-6-251015` (spec, Model `gamma-chat-1-6-251015`). */
  readonly "gamma-chat-1-6-251015": GammaChatParams;
  /** Parameters of `delta-5.3` (spec, Model `delta-5.3`). */
  readonly "delta-5.3": DeltaChatParams;
}

/** Request of `completeChat` and `streamChat`, discriminated by `model`; the gateway's own field names. */
export type ChatRequest = ChatRequests[ChatModel];

type KeyOfEach<Union> = Union extends unknown ? keyof Union : never;
type SharedName = keyof StreamParams | "max_tokens" | "temperature" | "top_p" | "stop";

/** The parameters that all chat models have, within the bounds of each: for a `model` that may be any of them. */
export interface SharedChatParams
  extends StreamParams,
    Readonly<Partial<Record<Exclude<KeyOfEach<ChatParams[ChatModel]>, SharedName>, undefined>>> {
  /**
   * Most tokens of the answer. Whole number from 1 to 8,192, which every model accepts (spec, POST
   * /v1/chat/completions).
   */
  readonly max_tokens?: number | undefined;
  /**
   * Randomness of the answer: 0 repeats itself most. From 0 to 1, which every model accepts (spec, POST
   * /v1/chat/completions).
   */
  readonly temperature?: number | undefined;
  /** Share of the likeliest words that the model chooses from. From 0 to 1 (spec, POST /v1/chat/completions). */
  readonly top_p?: number | undefined;
  /** Text that ends the answer where the model writes it. One text, not a list (spec, POST /v1/chat/completions). */
  readonly stop?: string | undefined;
}
