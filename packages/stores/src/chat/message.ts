import {
  type AssistantMessage,
  type ChatRequestMessage,
  type ChatResult,
  type ChatUsage,
  type Outcome,
  StreamError,
  type ToolContext,
} from "@sluice/core";
import { isRecord } from "@sluice/core/extend";

/** Times of a response. */
export type ChatTiming = ChatResult["timing"];

/** A file that a tool attaches to its message. */
export type ThreadFile = Parameters<ToolContext["attachFile"]>[0];

/** A call of a tool, as the gateway sends and receives it. */
export type ToolCall = NonNullable<AssistantMessage["tool_calls"]>[number];

/** All states of a tool call. */
export const toolCallStates = [
  "streaming",
  "needs-approval",
  "needs-output",
  "running",
  "done",
  "failed",
  "denied",
  "cancelled",
] as const;

/**
 * State of a tool call.
 *
 * - `streaming`: its arguments are still arriving
 * - `needs-approval`: it waits for `approve` or `deny`
 * - `needs-output`: it waits for `addToolOutput`
 * - `running`: `execute` runs
 * - `done`: it has an `output`
 * - `failed`, `denied`, `cancelled`: it has an `error`
 */
export type ToolCallState = (typeof toolCallStates)[number];

/** A tool call of a response, with its state and result. */
export interface ChatToolCall {
  /** Id of the call, for `approve`, `deny` and `addToolOutput`. */
  readonly id: string;
  /** Name of the tool. */
  readonly name: string;
  /** Arguments as the model wrote them; incomplete while they stream. */
  readonly arguments: string;
  /** Parsed arguments: partial while they stream, then the output of the tool's schema. */
  readonly input: unknown;
  /** State of the call. */
  readonly state: ToolCallState;
  /** Result of the tool, once `state` is `done`. */
  readonly output?: unknown;
  /** Text that the model gets instead of an output, if the call failed, was denied or was cancelled. */
  readonly error?: string;
  /** Progress that the tool reports, from 0 to 1; absent once the call has ended. */
  readonly progress?: number;
  /**
   * JSON value that the tool saved with `saveState`, e.g. the handle of a video task. A reload runs a running call with a
   * saved state again. The state stays if the call ends without an output.
   */
  readonly savedState?: unknown;
}

/** A message of a thread. It stays the same object until it changes. */
export interface ChatMessage {
  /** Id of the message, unique in its thread. */
  readonly id: string;
  /** Author of the message. */
  readonly role: "system" | "user" | "assistant";
  /** Text of the message so far. */
  readonly content: string;
  /** Images of a user's message, or of a response's tools: http(s) or data URLs. */
  readonly images?: readonly string[];
  /** Other files that the tools of a response have attached. */
  readonly files?: readonly ThreadFile[];
  /** Reasoning of the model; absent if the model sent none. */
  readonly reasoning?: string;
  /** Tool calls of the response, with their results. */
  readonly toolCalls?: readonly ChatToolCall[];
  /** With an `outputSchema`: the response as a value, partial until `outcome` is `"complete"`. */
  readonly output?: unknown;
  /** Outcome of the response; absent on other roles and while the response is in flight. */
  readonly outcome?: Outcome;
  /**
   * Error of a response with the outcome `"error"` or `"truncated"`. On a response with tool calls: error of the next
   * request, which was not sent.
   */
  readonly error?: Error;
  /** Model that wrote the response. */
  readonly model?: string;
  /** Tokens of the response, once they are known. */
  readonly usage?: ChatUsage;
  /** Speed of the response, once it has ended. */
  readonly timing?: ChatTiming;
  /**
   * Id of the stream in the proxy, for a response in flight or with a missing rest. A reload and `retry` continue the
   * stream instead of a new request.
   */
  readonly streamId?: string;
  /**
   * The `idempotency-key` of a response in flight or lost. `retry` sends the key again, so that a proxy with resumable
   * streams returns the first response and nothing is billed twice.
   */
  readonly idempotencyKey?: string;
  /** Time of the message; Unix milliseconds. */
  readonly createdAt?: number;
  /** Ids of all versions of this message, including its own, oldest first; absent if there is only one. */
  readonly branches?: readonly string[];
}

/** A message of a thread, shown or not, with its parent. */
export interface ChatNode {
  /** Id of the message. */
  readonly id: string;
  /** Id of the message before it; undefined for a first message. */
  readonly parentId: string | undefined;
  /** The message. */
  readonly message: ChatMessage;
}

/** Result of one question: a response, or several responses with tool results between them. */
export interface ChatTurn {
  /** The messages that the turn added to the thread, in order, in their final state. */
  readonly messages: readonly ChatMessage[];
  /**
   * Outcome of the last response.
   *
   * - `tool-calls`: a call waits for the user or the app
   * - `step-limit`: `maxSteps` responses arrived; `retry()` allows as many again
   * - `error` after complete responses: the next request was not sent. The earlier responses stay and are billed;
   * `retry()` continues from them
   * - `truncated` with an `AbortError`: the chat was closed, and its runner continues the turn
   * - `not-sent`: no request of the turn was sent; `error` says why. If `messages` has a question, it is in the thread,
   * and `retry()` sends it
   * - `stopped` without messages: the user stopped while images were read, before a request was sent
   */
  readonly outcome: Outcome;
  /**
   * Error that ended the turn; absent after a success. If the turn has earlier responses, the error's `billing` is
   * `maybe`, because they are billed.
   */
  readonly error?: Error;
}

/** Creates the turn of a call that changed nothing and sent nothing. */
export function createUnsentTurn(error: Error): ChatTurn {
  return { messages: [], outcome: "not-sent", error };
}

/** Returns true for a running call with a saved state, which a reload runs again. */
export function isResumable({ state, savedState }: ChatToolCall): boolean {
  return state === "running" && savedState !== undefined;
}

/** Returns true for a response whose tool results form the next request. */
export function isContinued({ outcome }: ChatMessage): boolean {
  return outcome === "tool-calls" || outcome === "step-limit";
}

/** Returns a response without its end, to read it again. */
export function toDraft({ outcome: _, error: _error, timing: _timing, ...draft }: ChatMessage): ChatMessage {
  return draft;
}

/** Returns true for a response that ended early and that no proxy stores. */
export function isLost(message: ChatMessage | undefined): boolean {
  const { outcome = "", streamId } = message ?? {};
  return streamId === undefined && ["truncated", "error"].includes(outcome);
}

/** Returns true for a response whose page was closed in flight, or that the proxy no longer stores. */
export function isInterrupted({ outcome, error }: ChatMessage): boolean {
  return outcome === "truncated" && (error as Partial<StreamError> | undefined)?.reason === "interrupted";
}

/** Creates the end of a response whose page was closed in flight. */
export function createInterruptedEnd(content: string): Pick<ChatMessage, "outcome" | "error"> {
  const partial = { role: "assistant", content };
  const text = "the page was closed before the response was complete; it may be billed";
  const error = new StreamError(text, { reason: "interrupted", partial });
  return { outcome: "truncated", error: Object.assign(error, { billing: "maybe" }) };
}

/** Returns true while a tool call waits for the user or the app. */
export function isPending({ state }: ChatToolCall): boolean {
  return state === "needs-approval" || state === "needs-output";
}

/** Returns true while a tool call has neither an output nor an error. */
export function isOpen(call: ChatToolCall): boolean {
  return call.state === "streaming" || call.state === "running" || isPending(call);
}

/** Returns true for a response that ended without content. */
export function isEmptyResponse({ role, outcome, content, reasoning, toolCalls }: ChatMessage): boolean {
  const hasEnded = outcome !== undefined && outcome !== "complete";
  return role === "assistant" && hasEnded && !content && !reasoning && !toolCalls?.length;
}

/** Closes the open tool calls of a message, or the calls that `which` selects. The model gets `reason` as their result. */
export function closeToolCalls(
  message: ChatMessage,
  reason: string,
  isClosed: (call: ChatToolCall) => boolean = isOpen,
): ChatMessage {
  if (!message.toolCalls?.some(isClosed)) return message;
  const toolCalls = message.toolCalls.map((call) =>
    isClosed(call) ? ({ ...call, state: "cancelled", error: reason } as const) : call,
  );
  return { ...message, toolCalls };
}

/** Converts a message without tool calls to a message of a request. */
export function toWireMessage({ role, content, images }: ChatMessage): ChatRequestMessage {
  if (role !== "user" || !images?.length) return { role, content };
  const parts = images.map((url) => ({ type: "image_url" as const, image_url: { url } }));
  return { role, content: content === "" ? parts : [{ type: "text", text: content }, ...parts] };
}

/** Returns true for a file that a page can show: an http(s) URL, or a data URL of an image, a video or a sound. */
export function isFile(value: unknown): value is ThreadFile {
  if (!isRecord(value)) return false;
  const { type, url } = value;
  if (typeof type !== "string" || !/^[\w.+-]+\/[\w.+*-]+$/.test(type) || typeof url !== "string")
    return false;
  return (/^https?:\/\//i.test(url) && URL.canParse(url)) || /^data:(image|video|audio)\//i.test(url);
}
