import { isImageURL, isRecord } from "@sluice/core/extend";
import {
  type ChatMessage,
  type ChatToolCall,
  closeToolCalls,
  createInterruptedEnd,
  isFile,
  isOpen,
  isPending,
  isResumable,
  toolCallStates,
} from "./message.js";
import type { MessageNode } from "./thread.js";

/** Key of the record with the id of the last shown message. No message has this id. */
export const LEAF = "/leaf";

/** Creates the record of a message: its JSON, without its versions. */
export function toRecord({ message, parent, revision, key, turn }: MessageNode): object {
  const { branches: _, error, ...rest } = message;
  return {
    message: { ...rest, ...(error && { error: pickErrorFields(error) }) },
    parent: parent ?? null,
    revision,
    ...(key && { key }),
    ...(turn !== undefined && { turn }),
  };
}

/** Parses messages from records. Omits unreadable records, because any script of the origin may write to a storage. */
export function parseNodes(records: ReadonlyMap<string, unknown>): MessageNode[] {
  return [...records].flatMap(([key, record]) => parseNode(key, record) ?? []);
}

/** Parses one message; undefined for a record that is not a message. */
export function parseNode(id: string, record: unknown): MessageNode | undefined {
  // a damaged record of the leaf must not become a message, because nothing would ever end it
  if (id === LEAF || !isRecord(record) || !isRecord(record["message"])) return undefined;
  const { message: stored, parent, revision, key, turn } = record;
  const { role, content, error, images, files, toolCalls } = stored as Record<string, unknown>;
  const isResponse = role === "assistant";
  if (!isString(content) && !isResponse) return undefined;
  if (!isResponse && role !== "user" && role !== "system") return undefined;
  const message = {
    ...Object.fromEntries(
      Object.entries(fieldChecks).flatMap(([name, fits]) => {
        const value = (stored as Record<string, unknown>)[name];
        return fits(value) ? [[name, value]] : [];
      }),
    ),
    id,
    role,
    content: isString(content) ? content : "",
    ...(isRecord(error) && { error: Object.assign(new Error(), pickErrorFields(error)) }),
    ...(Array.isArray(images) && { images: images.filter((url) => isString(url) && isImageURL(url)) }),
    ...(Array.isArray(files) && { files: files.filter(isFile) }),
    ...(Array.isArray(toolCalls) && { toolCalls: toolCalls.flatMap((call) => parseCall(call) ?? []) }),
  } as ChatMessage;
  return {
    message,
    // an unknown parent id orders the message by its age
    parent: parent === null ? undefined : isString(parent) ? parent : `/${id}`,
    revision: Number.isSafeInteger(revision) ? (revision as number) : 0,
    ...(isString(key) && { key }),
    ...(isString(turn) && { turn }),
  };
}

/** Fields to copy, each with its type check. */
const fieldChecks: Readonly<Record<string, (value: unknown) => boolean>> = {
  reasoning: isString,
  outcome: isString,
  model: isString,
  streamId: isString,
  idempotencyKey: (value) => isString(value) && /^[\x21-\x7e]{1,255}$/.test(value),
  createdAt: Number.isFinite,
  usage: isRecord,
  timing: isRecord,
  output: (value) => value !== undefined,
};

function parseCall(call: unknown): ChatToolCall | undefined {
  if (!isRecord(call)) return undefined;
  const { id, name, arguments: text, input, state, output, error, savedState } = call;
  const hasId = isString(id) ? id !== "" : Number.isFinite(id);
  if (!hasId || !isString(name)) return undefined;
  return {
    id: String(id),
    name,
    arguments: isString(text) ? text : "",
    input,
    state: toolCallStates.find((known) => known === state) ?? "cancelled",
    ...(output !== undefined && { output }),
    ...(isString(error) && { error }),
    ...(savedState !== undefined && { savedState }),
  };
}

/** Picks the stored fields of an error. Omits the body of the response, because the message has its text. */
function pickErrorFields(error: object): Record<string, unknown> {
  const names = ["name", "message", "code", "status", "reason", "phase", "type", "billing"] as const;
  const source = error as Record<string, unknown>;
  return Object.fromEntries(
    names.flatMap((name) =>
      typeof source[name] === (name === "status" ? "number" : "string") ? [[name, source[name]]] : [],
    ),
  );
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

/** Returns true for a response without an end: a tab streams it, or was closed while streaming. */
export function isUnfinished(message: ChatMessage | undefined): boolean {
  return message?.role === "assistant" && message.outcome === undefined;
}

const PAGE_CLOSED = "the page was closed before the call had a result";

/** Ends the running calls that can't be resumed, in a response with calls that can. */
export function closeLostCalls(message: ChatMessage): ChatMessage {
  return closeToolCalls(
    message,
    PAGE_CLOSED,
    (call) => isOpen(call) && !isPending(call) && !isResumable(call),
  );
}

/** Ends the response and the running tools of a message whose tab was closed. Pending calls stay open. */
export function endInterrupted(message: ChatMessage): ChatMessage {
  if (isUnfinished(message)) {
    const { streamId: _, ...ended } = closeToolCalls(message, PAGE_CLOSED);
    return { ...ended, ...createInterruptedEnd(ended.content) };
  }
  return closeToolCalls(message, PAGE_CLOSED, (call) => isOpen(call) && !isPending(call));
}

/** Returns true for a message that does not end unless a tab works on it. */
export function isInFlight(message: ChatMessage): boolean {
  return endInterrupted(message) !== message;
}
