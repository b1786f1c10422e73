import { ValidationError } from "@sluice/core";
import { createRandomId, isRecord } from "@sluice/core/extend";
import type { ChatMessage } from "./message.js";
import { isFile } from "./message.js";

/**
 * A message of the initial thread. A message without `id` gets one. A response without `outcome` counts as `complete`,
 * or as `tool-calls` if it has calls.
 */
export type InitialMessage = Omit<ChatMessage, "id"> & {
  /** Id of the message, unique in its thread. @default a new one */
  readonly id?: string;
};

/**
 * Converts the messages of an app to messages of a thread.
 *
 * @throws {ValidationError} for an invalid message; it names the index and the field
 */
export function parseInitialMessages(messages: readonly InitialMessage[], option: string): ChatMessage[] {
  if (!Array.isArray(messages))
    throw new ValidationError([
      { path: option, message: "must be a list of messages", rule: "chat.messages" },
    ]);
  const ids = new Set<string>();
  return messages.map((message, index) => {
    const [field, problem] = findProblem(message, ids) ?? [];
    if (problem) {
      const path = [option, index, field].filter((step) => step !== "").join(".");
      throw new ValidationError([{ path, message: problem, rule: "chat.messages" }]);
    }
    const { id = createRandomId(), role, outcome, toolCalls } = message;
    ids.add(id);
    if (role !== "assistant" || outcome) return message.id ? (message as ChatMessage) : { ...message, id };
    return { ...message, id, outcome: toolCalls?.length ? "tool-calls" : "complete" };
  });
}

/** Returns an invalid field with the reason. */
function findProblem(message: unknown, ids: ReadonlySet<unknown>): [string, string] | undefined {
  if (!isRecord(message)) return ["", "must be a message: { role, content }"];
  const { id, role, content, toolCalls, images, files, parts } = message;
  if (!roles.has(role))
    return ["role", `must be one of ${[...roles].join(", ")}; got ${JSON.stringify(role)}`];
  if (typeof content !== "string")
    return ["content", `must be text${parts ? "; join the text of the message's `parts`" : ""}`];
  if (id !== undefined && (typeof id !== "string" || id === ""))
    return ["id", "must be text, or be left out"];
  if (ids.has(id)) return ["id", `is the id of an earlier message too: ${JSON.stringify(id)}`];
  if (!isListOf(toolCalls, isCall))
    return ["toolCalls", "must be calls: { id, name, arguments, input, state }"];
  if (!isListOf(images, (url) => typeof url === "string")) return ["images", "must be http(s) or data URLs"];
  if (!isListOf(files, isFile)) return ["files", "must be files: { type, url }, with http(s) or data URLs"];
  return undefined;
}

const roles: ReadonlySet<unknown> = new Set(["system", "user", "assistant"]);

function isListOf(list: unknown, holds: (item: unknown) => boolean): boolean {
  return list === undefined || (Array.isArray(list) && list.every(holds));
}

function isCall(call: unknown): boolean {
  return isRecord(call) && typeof call.name === "string" && typeof call.arguments === "string";
}
