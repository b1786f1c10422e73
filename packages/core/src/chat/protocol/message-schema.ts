import * as v from "valibot";
import { notEmpty, oneOf, type RequestOf, rule } from "../../base/validate.js";
import { isImageURL } from "./image-url.js";

/** A text part of a message's `content`. */
export const textPart = v.object({
  /** Kind of the part. */
  type: v.picklist(["text"]),
  /** The text itself. */
  text: v.string(),
});

/** A piece of text in a message's `content` (spec, Model `alpha-v4.1-flash`). */
export type TextPart = RequestOf<typeof textPart>;

/** An image part: a public http(s) URL, or a Base64 data URL of a JPEG, PNG, GIF or WebP image. */
export const imagePart = v.object({
  /** Kind of the part. */
  type: v.picklist(["image_url"]),
  /** The image. */
  image_url: v.object({
    /** Public http(s) URL, or Base64 data URL of a JPEG, PNG, GIF or WebP image. */
    url: v.pipe(
      v.string(),
      rule(
        "image-url",
        isImageURL,
        "must be an http(s) URL or a Base64 data URL of a JPEG, PNG, GIF or WebP image",
      ),
    ),
    /** Detail level of the image. @default "auto" */
    detail: v.optional(v.picklist(["low", "high", "original", "auto"])),
  }),
});

/** An image in a user message's `content`, for models with image input (spec, Model `alpha-v4.1-flash`). */
export type ImagePart = RequestOf<typeof imagePart>;

/** Schema of one text or a list. */
// lazy instead of a union: a union would report "neither fits" instead of the path of the invalid part
/* @__NO_SIDE_EFFECTS__ */
export function textOr<List>(list: v.GenericSchema<List>): v.GenericSchema<string | List> {
  return v.lazy((input) => (Array.isArray(input) ? list : v.string()) as v.GenericSchema<string | List>);
}

const textContent = textOr<readonly TextPart[]>(
  v.array(
    oneOf<TextPart>(
      "type",
      { text: textPart },
      'must be "text": images are accepted only in user messages of models with image input',
    ),
  ),
);
const partsContent = textOr<readonly (TextPart | ImagePart)[]>(
  v.array(oneOf<TextPart | ImagePart>("type", { text: textPart, image_url: imagePart })),
);

/** A tool call as the model wrote it, and as requests send it back: `function.arguments` is JSON as text. */
export const toolCall = v.object({
  /** Id of the call; the `tool` message with its result carries it as `tool_call_id`. */
  id: v.string(),
  /** Kind of tool; functions are the only kind. */
  type: v.picklist(["function"]),
  /** The function to call and its arguments. */
  function: v.object({
    /** Name of the function, as in `tools`. */
    name: v.string(),
    /** Arguments as JSON text. The text comes from the model and may be invalid JSON. */
    arguments: v.string(),
  }),
});

/** A tool call as the model wrote it, and as requests send it back (spec, Chat completion). */
export type ToolCall = RequestOf<typeof toolCall>;

const commonFields = {
  /** Name of the participant, to tell participants with the same role apart. */
  name: v.optional(v.string()),
  /** Thinking of an earlier response. Send it back unchanged in conversations of several turns with tools. */
  reasoning_content: v.nullish(v.string()),
  /** Id of the tool call whose result the message carries. Required in `tool` messages. */
  tool_call_id: v.optional(v.string()),
  /** Tool calls of an earlier response. Each one needs a `tool` message with its result. */
  tool_calls: v.nullish(v.array(toolCall as v.GenericSchema<ToolCall>)),
} as const;

const systemMessage = v.object({
  /** Author of the message. `system`: the app. */
  role: v.picklist(["system"]),
  /** Text of the message, or its text parts. Images are for user messages only. */
  content: textContent,
  ...commonFields,
});

/** Instructions for the model, before the conversation (spec, Model `alpha-v4.1-flash`). */
export type SystemMessage = RequestOf<typeof systemMessage>;

const assistantMessage = v.object({
  /** Author of the message. `assistant`: the model. */
  role: v.picklist(["assistant"]),
  /** Text of the response, or its text parts. `null` or absent only beside `tool_calls`. */
  content: v.nullish(textContent),
  ...commonFields,
});

/** An earlier response of the model (spec, Model `alpha-v4.1-flash`). */
export type AssistantMessage = RequestOf<typeof assistantMessage>;

const contentOrCalls = rule<v.InferOutput<typeof assistantMessage>>(
  "content",
  ({ content, tool_calls }) => typeof content === "string" || !!content || !!tool_calls?.length,
  "must be text or parts; it may be null or absent only beside tool_calls",
  "content",
);

const toolMessage = v.object({
  /** Author of the message. `tool`: the function that the model called. */
  role: v.picklist(["tool"]),
  /** Result of the call, as text or text parts. */
  content: textContent,
  ...commonFields,
  /** Id of the tool call whose result this message carries. Not empty. */
  tool_call_id: v.pipe(v.string(), notEmpty()),
});

/** The result of a tool call (spec, Model `alpha-v4.1-flash`). */
export type ToolMessage = RequestOf<typeof toolMessage>;

const textUserMessage = v.object({
  /** Author of the message. `user`: the person. */
  role: v.picklist(["user"]),
  /** Text of the message, or its text parts. This model accepts no images. */
  content: textContent,
  ...commonFields,
});

/** A message of the user to a model without image input (spec, POST /v1/chat/completions). */
export type TextUserMessage = RequestOf<typeof textUserMessage>;

const userMessage = v.object({
  /** Author of the message. `user`: the person. */
  role: v.picklist(["user"]),
  /** Text of the message, or its parts: texts and images. */
  content: partsContent,
  ...commonFields,
});

/** A message of the user to a model with image input (spec, Model `alpha-v4.1-flash`). */
export type UserMessage = RequestOf<typeof userMessage>;

/** A message for a model without image input. */
export type TextMessage = SystemMessage | AssistantMessage | ToolMessage | TextUserMessage;
/** One message of a request's `messages`, discriminated by `role`. */
export type ChatRequestMessage = SystemMessage | AssistantMessage | ToolMessage | UserMessage;

/* @__NO_SIDE_EFFECTS__ */
function messageList<Message>(user: typeof userMessage | typeof textUserMessage) {
  const message = oneOf<Message>("role", {
    system: systemMessage,
    user,
    assistant: v.pipe(assistantMessage, contentOrCalls),
    tool: toolMessage,
  });
  return v.pipe(v.array(message), notEmpty());
}

/** Schema of the conversation with a model without image input. */
export const textMessages = messageList<TextMessage>(textUserMessage);
/** Schema of the conversation with a model with image input. */
export const messages = messageList<ChatRequestMessage>(userMessage);
