import { type ChatRequestMessage, type ChatUsage, type Outcome, StreamError } from "@sluice/core";
import type { ChatTiming, ThreadFile } from "@sluice/core/internal";
import { addDetails, describeThrown, isHTTP, isRecord } from "@sluice/core/internal";

/**
 * State of a tool call.
 *
 * - `streaming`: its arguments are still coming
 * - `needs-approval`: it waits for `approve` or `deny`
 * - `needs-output`: it waits for `addToolOutput`
 * - `running`: `execute` runs
 * - `done`: it has an `output`
 * - `failed`, `denied`, `cancelled`: it has an `error`
 */
export type ToolCallState =
  | "streaming"
  | "needs-approval"
  | "needs-output"
  | "running"
  | "done"
  | "failed"
  | "denied"
  | "cancelled";

/** A tool call of an answer, with its state and result. */
export interface ChatToolCall {
  /** Id of the call: `approve`, `deny` and `addToolOutput` take it. */
  readonly id: string;
  /** Name of the tool. */
  readonly name: string;
  /** Arguments as the model wrote them, as far as they have come. */
  readonly arguments: string;
  /** Arguments as a value: partial while they stream, then as the tool's schema returned them. */
  readonly input: unknown;
  /** State of the call. */
  readonly state: ToolCallState;
  /** Result of the tool, once `state` is `done`. */
  readonly output?: unknown;
  /** Text that the model gets instead of an output, once the call failed, was denied or was cancelled. */
  readonly error?: string;
  /** Share of the work that is done, from 0 to 1, where the tool reports it; absent once the call has ended. */
  readonly progress?: number;
  /**
   * Value that the tool has saved for its call (`saveState`), as JSON: the handle of a film. A running call that has it is
   * run again after a reload. It stays where the call ended without a result.
   */
  readonly savedState?: unknown;
}

/** One message of a thread. A message that has not changed stays the same object. */
export interface ChatMessage {
  /** Id of the message, unique in its thread. */
  readonly id: string;
  /** Author of the message. */
  readonly role: "system" | "user" | "assistant";
  /** Text of the message so far. */
  readonly content: string;
  /** Images beside a user's text, or made by the tools of an answer: http(s) or data URLs. */
  readonly images?: readonly string[];
  /** Other files that the tools of an answer have made. */
  readonly files?: readonly ThreadFile[];
  /** The model's thinking; absent where the model showed none. */
  readonly reasoning?: string;
  /** The tools that the answer calls, and their results. */
  readonly toolCalls?: readonly ChatToolCall[];
  /** With an `outputSchema`: the answer as a value, partial until `outcome` is `"complete"`. */
  readonly output?: unknown;
  /** Ending of the answer; absent on other roles and while it is in flight. */
  readonly outcome?: Outcome;
  /**
   * Error of an answer whose outcome is `"error"` or `"truncated"`. On an answer that called tools: error of the
   * next request, which was not sent.
   */
  readonly error?: Error;
  /** Model that answered. */
  readonly model?: string;
  /** Tokens of the answer, once they are known. */
  readonly usage?: ChatUsage;
  /** Speed of the answer, once it has ended. */
  readonly timing?: ChatTiming;
  /**
   * Id under which the proxy keeps an answer that is in flight, or whose rest could not be had. A reload and `retry`
   * continue it, and request no other.
   */
  readonly streamId?: string;
  /**
   * The `idempotency-key` of an answer whose end is not known: it is in flight, or was lost. `retry` sends it again, so
   * that a proxy that keeps answers gives the first one and nothing is paid twice.
   */
  readonly idempotencyKey?: string;
  /** Time of the message; Unix milliseconds. */
  readonly createdAt?: number;
  /**
   * Place where a message was added that this device did not add: another device, or a server. Absent on messages of this device, and where the storage is this device's alone.
   */
  readonly origin?: "another-device" | "server";
  /** The ids of all versions of this message, its own among them, oldest first; absent where it is the only one. */
  readonly branches?: readonly string[];
}

/** A message of a thread, shown or not, and the one before it. */
export interface ChatNode {
  /** Id of the message. */
  readonly id: string;
  /** Id of the message before it; undefined for a first one. */
  readonly parentId: string | undefined;
  /** The message. */
  readonly message: ChatMessage;
}

/** Result of one question: its answer, or several answers with tool results between them. */
export interface ChatTurn {
  /** The messages that the turn added to the thread, in order, in their final state. */
  readonly messages: readonly ChatMessage[];
  /**
   * Ending of the last answer.
   *
   * - `tool-calls`: a call waits for the user or the app
   * - `step-limit`: `maxSteps` answers came; `retry()` allows as many again
   * - `error` with whole answers: the next request was not sent. The answers before it are kept and billed, and
   * `retry()` continues from them
   * - `truncated` without messages: another device has sent the queued message. With an `AbortError`: the chat was
   * closed, and the server that runs the turn goes on with it
   * - `not-sent`: no request of the turn was sent; `error` says why. A question in `messages` is in the thread,
   * and `retry()` sends it
   * - `stopped` without messages: stopped while images were read, before anything was sent
   */
  readonly outcome: Outcome;
  /**
   * Error that ended the turn; absent where it ended well. After an earlier answer of the same turn its `billing` is
   * `maybe`, because that answer is billed.
   */
  readonly error?: Error;
}

/** True for a running call that goes on after a reload, with what its tool has kept. */
export function isResumable({ state, savedState: kept }: ChatToolCall): boolean {
  return state === "running" && kept !== undefined;
}

/** Beginning of the keys of queued messages in a storage; the id of the message follows. */
export const QUEUED = "/queued/";

/** True for an answer that a request with the results of its tool calls continues. */
export function isContinued({ outcome }: ChatMessage): boolean {
  return outcome === "tool-calls" || outcome === "step-limit";
}

/** Returns an answer as it was in flight, to read it again. */
export function asDraft({ outcome: _, error: _error, timing: _timing, ...draft }: ChatMessage): ChatMessage {
  return draft;
}

/** True for an answer that broke off and is kept nowhere. */
export function isLost(message: ChatMessage | undefined): boolean {
  const { outcome = "", streamId } = message ?? {};
  return streamId === undefined && ["truncated", "error"].includes(outcome);
}

/** True for an answer that its page has left in flight, or that the proxy no longer has. */
export function isInterrupted({ outcome, error }: ChatMessage): boolean {
  return outcome === "truncated" && (error as Partial<StreamError> | undefined)?.reason === "interrupted";
}

/** Makes the end of an answer that its page has left in flight. */
export function interruptedEnd(content: string): Pick<ChatMessage, "outcome" | "error"> {
  const partial = { role: "assistant", content };
  const text = "the page was closed before the answer was whole; it may be billed";
  const error = new StreamError(text, { reason: "interrupted", partial });
  return { outcome: "truncated", error: addDetails(error, { delivery: "unknown" }) };
}

/** True while a tool call waits for the user or for the app. */
export function isPending({ state }: ChatToolCall): boolean {
  return state === "needs-approval" || state === "needs-output";
}

/** True while a tool call has neither an output nor an error. */
export function isOpen(call: ChatToolCall): boolean {
  return call.state === "streaming" || call.state === "running" || isPending(call);
}

/** True for an answer that ended without any content. */
export function isHollow({ role, outcome, content, reasoning, toolCalls }: ChatMessage): boolean {
  const hasEnded = outcome !== undefined && outcome !== "complete";
  return role === "assistant" && hasEnded && !content && !reasoning && !toolCalls?.length;
}

/** Closes the open tool calls of a message, or those that `which` selects. The model gets `reason` as their result. */
export function withCallsClosed(
  message: ChatMessage,
  reason: string,
  which: (call: ChatToolCall) => boolean = isOpen,
): ChatMessage {
  if (!message.toolCalls?.some(which)) return message;
  const toolCalls = message.toolCalls.map((call) =>
    which(call) ? ({ ...call, state: "cancelled", error: reason } as const) : call,
  );
  return { ...message, toolCalls };
}

/** Adds the result to a call. A result that is not JSON makes the call fail. */
export function withOutput(call: ChatToolCall, output: unknown): ChatToolCall {
  const problem = problemOf(output);
  return problem
    ? failed(call, `the result of the tool does not fit into JSON: ${problem}`)
    : { ...call, state: "done", output };
}

/** Deepest nesting of a result. A deeper value could overflow the stack as a part of a larger one. */
const MAX_DEPTH = 500;

/** Returns the reason why a value cannot be written as JSON; undefined if it can. */
export function problemOf(value: unknown): string | undefined {
  const depths = new Map<unknown, number>();
  try {
    JSON.stringify(value, function (this: unknown, _key, item: unknown) {
      const depth = (depths.get(this) ?? 0) + 1;
      if (depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} deep`);
      if (typeof item === "object") depths.set(item, depth);
      return item;
    });
  } catch (cause) {
    return describeThrown(cause);
  }
  return undefined;
}

/** Ends a call with an error, which the model gets. */
export function failed(call: ChatToolCall, error: string): ChatToolCall {
  return { ...call, state: "failed", error };
}

/** Makes the message of a request from a message without tool calls. */
export function wireMessageOf({ role, content, images }: ChatMessage): ChatRequestMessage {
  if (role !== "user" || !images?.length) return { role, content };
  const parts = images.map((url) => ({ type: "image_url" as const, image_url: { url } }));
  return { role, content: content === "" ? parts : [{ type: "text", text: content }, ...parts] };
}

/** True for a file that a page can show: its address is http(s), or a data URL of an image, a video or a sound. */
export function isFile(value: unknown): value is ThreadFile {
  if (!isRecord(value)) return false;
  const { type, url } = value;
  if (typeof type !== "string" || !/^[\w.+-]+\/[\w.+*-]+$/.test(type) || typeof url !== "string")
    return false;
  return isHTTP(url) || /^data:(image|video|audio)\//i.test(url);
}
