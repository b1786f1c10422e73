import { isImageURL, isRecord } from "@sluice/core/internal";
import {
  type ChatMessage,
  type ChatToolCall,
  interruptedEnd,
  isFile,
  isOpen,
  isPending,
  isResumable,
  QUEUED,
  withCallsClosed,
} from "./message.js";
import type { PlacedMessage } from "./tree.js";

/** Key of the record with the id of the last shown message; no message has this id. */
export const LEAF = "/leaf";

/**
 * The record of a message: its JSON, without its versions.
 *
 * @param device id of this device, where devices share the thread
 */
export function recordOf(
  { message, parent, revision, by, key, isStopped }: PlacedMessage,
  device?: string,
): object {
  const { branches: _, origin: _origin, error, ...rest } = message;
  const author = by ?? device;
  return {
    message: { ...rest, ...(error && { error: reasonOf(error) }) },
    parent: parent ?? null,
    revision,
    ...(author !== undefined && { by: author }),
    ...(key && { key }),
    ...(isStopped && { isStopped }),
  };
}

/**
 * Reads messages from records. Leaves out unreadable records, because any script of the origin may write to a storage.
 */
export function nodesIn(records: ReadonlyMap<string, unknown>, device?: string): PlacedMessage[] {
  return [...records].flatMap(([key, record]) => nodeOf(key, record, device) ?? []);
}

/** Reads one message. With the id of this device it knows its origin. */
export function nodeOf(id: string, record: unknown, device?: string): PlacedMessage | undefined {
  // what other records are damaged into is no message: nothing would ever end it
  if (id === LEAF || id.startsWith(QUEUED) || !isRecord(record) || !isRecord(record["message"]))
    return undefined;
  const { message: kept, parent, revision, by, key, isStopped } = record;
  const isForeign = isText(by) && by !== device;
  const { role, content, error, images, files, toolCalls } = kept as Record<string, unknown>;
  const isAnswer = role === "assistant";
  if (!isText(content) && !isAnswer) return undefined;
  if (!isAnswer && role !== "user" && role !== "system") return undefined;
  const message = {
    ...Object.fromEntries(
      Object.entries(fields).flatMap(([name, fits]) => {
        const value = (kept as Record<string, unknown>)[name];
        return fits(value) ? [[name, value]] : [];
      }),
    ),
    id,
    role,
    content: isText(content) ? content : "",
    ...(isForeign && device !== undefined && { origin: by === "server" ? by : "another-device" }),
    ...(isRecord(error) && { error: Object.assign(new Error(), reasonOf(error)) }),
    ...(Array.isArray(images) && { images: images.filter((url) => isText(url) && isImageURL(url)) }),
    ...(Array.isArray(files) && { files: files.filter(isFile) }),
    ...(Array.isArray(toolCalls) && { toolCalls: toolCalls.flatMap((call) => callOf(call) ?? []) }),
  } as ChatMessage;
  return {
    message,
    // without a valid parent, the message is placed by its age
    parent: parent === null ? undefined : isText(parent) ? parent : `/${id}`,
    revision: Number.isSafeInteger(revision) ? (revision as number) : 0,
    ...(isForeign && { by }),
    ...(isText(key) && { key }),
    ...(isStopped === true && { isStopped }),
  };
}

/** Fields that are copied, and the type that each must have. */
const fields: Readonly<Record<string, (value: unknown) => boolean>> = {
  reasoning: isText,
  outcome: isText,
  model: isText,
  streamId: isText,
  idempotencyKey: (value) => isText(value) && /^[\x21-\x7e]{1,255}$/.test(value),
  createdAt: Number.isFinite,
  usage: isRecord,
  timing: isRecord,
  output: (value) => value !== undefined,
};

const states: readonly unknown[] = [
  "streaming",
  "needs-approval",
  "needs-output",
  "running",
  "done",
  "failed",
  "denied",
  "cancelled",
] satisfies readonly ChatToolCall["state"][];

function callOf(call: unknown): ChatToolCall | undefined {
  if (!isRecord(call)) return undefined;
  const { id, name, arguments: text, input, state, output, error, savedState } = call;
  if (!(isText(id) ? id : Number.isFinite(id)) || !isText(name)) return undefined;
  return {
    id: String(id),
    name,
    arguments: isText(text) ? text : "",
    input,
    state: (states.includes(state) ? state : "cancelled") as ChatToolCall["state"],
    ...(output !== undefined && { output }),
    ...(isText(error) && { error }),
    ...(savedState !== undefined && { savedState }),
  };
}

/** Fields of an error that are stored. The body of the answer is left out, and its text is in the message. */
function reasonOf(error: object): Record<string, unknown> {
  const kept = ["name", "message", "code", "status", "reason", "phase", "type", "billing"] as const;
  const of = error as Record<string, unknown>;
  return Object.fromEntries(
    kept.flatMap((name) =>
      typeof of[name] === (name === "status" ? "number" : "string") ? [[name, of[name]]] : [],
    ),
  );
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** True for an answer without an end: a tab streams it, or was closed while streaming. */
export function isUnderWay(message: ChatMessage | undefined): boolean {
  return message?.role === "assistant" && message.outcome === undefined;
}

const LEFT = "the page was left before the call had a result";

/** Ends the running tools of an answer that can't go on after its tab was closed, where others can. */
export function withResumableCalls(message: ChatMessage): ChatMessage {
  return withCallsClosed(message, LEFT, (call) => isOpen(call) && !isPending(call) && !isResumable(call));
}

/** Ends the answer and the running tools of a message whose tab was closed. Calls that wait for the user stay open. */
export function afterReload(message: ChatMessage): ChatMessage {
  if (isUnderWay(message)) {
    const { streamId: _, ...ended } = withCallsClosed(message, LEFT);
    return { ...ended, ...interruptedEnd(ended.content) };
  }
  return withCallsClosed(message, LEFT, (call) => isOpen(call) && !isPending(call));
}

/** Ends an answer, and its calls, that the user stops on a device which does not work on it. */
export function stoppedElsewhere(message: ChatMessage): ChatMessage {
  const {
    streamId: _,
    idempotencyKey: _key,
    ...stopped
  } = withCallsClosed(message, "the user stopped the answer before the call had a result");
  return { ...stopped, outcome: stopped.outcome ?? "stopped" };
}

/** True for a message that ends only if a tab works on it. */
export function isInFlight(message: ChatMessage): boolean {
  return afterReload(message) !== message;
}
