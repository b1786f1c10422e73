import {
  type LanguageModelV4FilePart,
  type LanguageModelV4Message,
  type LanguageModelV4Prompt,
  type LanguageModelV4ToolResultOutput,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import type { ChatRequestMessage } from "@sluice/core";
import { toBytes, toDataURIOfType } from "../base/files.js";
import type { Warnings } from "../base/warnings.js";

type UserContent = Extract<ChatRequestMessage, { role: "user" }>["content"];
type Part = Exclude<UserContent, string>[number];
type MessageOf<Role> = Extract<LanguageModelV4Message, { role: Role }>;

/**
 * Converts a prompt to the messages of a request. Sends the thinking of earlier messages back as `reasoning_content`.
 *
 * @throws {UnsupportedFunctionalityError} for a user's file that is neither an image nor a text
 */
export async function toMessages(
  prompt: LanguageModelV4Prompt,
  warnings: Warnings,
): Promise<ChatRequestMessage[]> {
  const messages = await Promise.all(prompt.map((message) => convertMessage(message, warnings)));
  return messages.flat();
}

async function convertMessage(
  message: LanguageModelV4Message,
  warnings: Warnings,
): Promise<ChatRequestMessage[]> {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user":
      return [{ role: "user", content: await toUserContent(message.content) }];
    case "assistant":
      return [toAssistantMessage(message, warnings)];
    case "tool":
      return message.content.flatMap((part) =>
        part.type === "tool-result"
          ? [{ role: "tool", tool_call_id: part.toolCallId, content: toText(part.output, warnings) }]
          : [],
      );
  }
}

async function toUserContent(content: MessageOf<"user">["content"]): Promise<string | Part[]> {
  const parts = await Promise.all(
    content.map((part) => (part.type === "text" ? createTextPart(part.text) : toFilePart(part))),
  );
  // every model and every service accepts a plain string
  return parts.every((part) => part.type === "text") ? parts.map(({ text }) => text).join("") : parts;
}

function createTextPart(text: string): Extract<Part, { type: "text" }> {
  return { type: "text", text };
}

/** Media types of text files. Many of them begin with `application`. */
const TEXT_TYPE =
  /^(?:text|text\/.+|application\/(?:[^;]+\+|x-)?(?:json|ndjson|jsonl|json5|xml|yaml|toml|csv|sql|javascript|typescript|sh))(?:\s*;.*)?$/i;

/** Reads the text of a file, which a page may send as a data URI. Returns undefined for a link. */
function readText(data: LanguageModelV4FilePart["data"]): string | undefined {
  if (data.type === "data") return new TextDecoder().decode(toBytes(data.data));
  if (data.type !== "url") return undefined;
  const [, base64, content] = /^data:[^,]*?(;base64)?,(.*)$/s.exec(data.url.href) ?? [];
  if (content === undefined) return undefined;
  return base64 ? new TextDecoder().decode(toBytes(content)) : decodeURIComponent(content);
}

async function toFilePart({ data, mediaType }: LanguageModelV4FilePart): Promise<Part> {
  const text = TEXT_TYPE.test(mediaType) ? readText(data) : undefined;
  if (text !== undefined) return createTextPart(text);
  if (data.type === "text") return createTextPart(data.text);
  if (!mediaType.startsWith("image") || data.type === "reference")
    throw new UnsupportedFunctionalityError({
      functionality: `a file of type ${mediaType}`,
      message: `the chat models read texts and images, and no file of type ${mediaType} (${data.type}); nothing was sent`,
    });
  const url =
    data.type === "url" ? (data.originalUrl ?? data.url.href) : await toDataURIOfType(data.data, mediaType);
  return { type: "image_url", image_url: { url } };
}

function toAssistantMessage({ content }: MessageOf<"assistant">, warnings: Warnings): ChatRequestMessage {
  let text = "";
  let reasoning = "";
  const calls = [];
  for (const part of content)
    if (part.type === "text") text += part.text;
    else if (part.type === "reasoning") reasoning += part.text;
    else if (part.type === "tool-call")
      calls.push({
        id: part.toolCallId,
        type: "function" as const,
        function: { name: part.toolName, arguments: JSON.stringify(part.input ?? {}) },
      });
    // an approval request is for the page, not for the model
    else if ((part.type as string) !== "tool-approval-request")
      warnings.unsupported(`${part.type} in a response`, "it was left out of the request");
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

/** Converts the result of a tool to the text of its message. */
function toText(output: LanguageModelV4ToolResultOutput, warnings: Warnings): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value);
    case "execution-denied":
      return output.reason ?? "the user denied this call";
    case "content":
      return output.value
        .map((part) => {
          if (part.type === "text") return part.text;
          if (part.type === "file" && part.data.type === "url") return part.data.url.href;
          warnings.unsupported(`${part.type} in a tool's result`, "a result is text: it was left out");
          return `(a ${part.type} that is not shown)`;
        })
        .join("\n");
  }
}
