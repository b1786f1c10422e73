import type { ChatTiming } from "../protocol/answer-reader.js";
import type { ChatOutcome, ChatUsage } from "../protocol/delta.js";

/** Ending of an answer; `interrupted`: the tab that streamed it was closed or reloaded meanwhile. */
export type MessageOutcome = ChatOutcome | "interrupted";

/**
 * State of a tool call.
 *
 * - `streaming`: its arguments are still coming
 * - `needs-approval`: it waits for `approve` or `deny`
 * - `needs-result`: it waits for `addToolResult`
 * - `running`: `execute` runs
 * - `done`: it has an `output`
 * - `failed`, `denied`, `cancelled`: it has an `error`
 */
export type ToolCallState =
  | "streaming"
  | "needs-approval"
  | "needs-result"
  | "running"
  | "done"
  | "failed"
  | "denied"
  | "cancelled";

/** A tool call of an answer, with its state and result. */
export interface ThreadToolCall {
  /** Id of the call: `approve`, `deny` and `addToolResult` take it. */
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
}

/** One message of a thread. A message that has not changed stays the same object. */
export interface ThreadMessage {
  /** Id of the message, unique in its thread. */
  readonly id: string;
  /** Author of the message. */
  readonly role: "system" | "user" | "assistant";
  /** Text of the message so far. */
  readonly content: string;
  /** Images beside a user's text: http(s) or data URLs. */
  readonly images?: readonly string[];
  /** The model's thinking; absent where the model showed none. */
  readonly reasoning?: string;
  /** The tools that the answer calls, and their results. */
  readonly toolCalls?: readonly ThreadToolCall[];
  /** With a `schema`: the answer as a value, partial until `outcome` is `"complete"`. */
  readonly object?: unknown;
  /** Ending of the answer; absent on other roles and while it is in flight. */
  readonly outcome?: MessageOutcome;
  /** Error of an answer whose outcome is `"error"` or `"truncated"`. */
  readonly error?: Error;
  /** Model that answered. */
  readonly model?: string;
  /** Tokens of the answer, once they are known. */
  readonly usage?: ChatUsage;
  /** Speed of the answer, once it has ended. */
  readonly timing?: ChatTiming;
  /** Id under which the proxy keeps the answer while it is in flight, so that it can be resumed after a reload. */
  readonly streamId?: string;
  /** Time of the message; Unix milliseconds. */
  readonly createdAt?: number;
  /** The ids of all versions of this message, its own among them, oldest first; absent where it is the only one. */
  readonly branches?: readonly string[];
}

/** Result of one question: its answer, or several answers with tool results between them. */
export interface ThreadTurn {
  /** The messages that the turn added to the thread, in order, in their final state. */
  readonly messages: readonly ThreadMessage[];
  /**
   * Ending of the last answer.
   *
   * - `tool-calls`: a call waits for the user or the app, or `maxSteps` was reached
   * - `not-sent`: the last request was not sent; `error` says why. A question in `messages` is in the thread,
   * and `retry()` sends it
   * - `stopped` without messages: stopped while images were read, before anything was sent
   */
  readonly outcome: MessageOutcome | "not-sent";
  /** Error that ended the turn; absent where it ended well. */
  readonly error?: Error;
}

/** True while a tool call waits for the user or for the app. */
export function isPending({ state }: ThreadToolCall): boolean {
  return state === "needs-approval" || state === "needs-result";
}

/** True while a tool call has neither an output nor an error. */
export function isOpen(call: ThreadToolCall): boolean {
  return call.state === "streaming" || call.state === "running" || isPending(call);
}

/** True for an answer that ended without any content. */
export function isHollow({ role, outcome, content, reasoning, toolCalls }: ThreadMessage): boolean {
  const hasEnded = outcome !== undefined && outcome !== "complete";
  return role === "assistant" && hasEnded && !content && !reasoning && !toolCalls?.length;
}

/** Closes the open tool calls of a message, or those that `which` selects. The model gets `reason` as their result. */
export function withCallsClosed(
  message: ThreadMessage,
  reason: string,
  which: (call: ThreadToolCall) => boolean = isOpen,
): ThreadMessage {
  if (!message.toolCalls?.some(which)) return message;
  const toolCalls = message.toolCalls.map((call) =>
    which(call) ? ({ ...call, state: "cancelled", error: reason } as const) : call,
  );
  return { ...message, toolCalls };
}
