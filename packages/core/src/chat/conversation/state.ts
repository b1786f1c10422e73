import type { ChatTiming } from "../protocol/answer-reader.js";
import type { ChatUsage } from "../protocol/delta.js";
import { isPending, type ThreadMessage } from "./message.js";

/**
 * `ready` for the next message; `submitted` until the first token; `streaming` while text comes or tools run;
 * `requires-action` while a tool call waits for somebody; `error` if the last turn failed, until the next attempt.
 */
export type ChatStatus = "ready" | "submitted" | "streaming" | "requires-action" | "error";

/** A tool call that waits: for `approve` or `deny`, or for `addToolResult`. */
export interface PendingAction {
  /** `approval`: `approve` or `deny` answers it. `result`: `addToolResult` does. */
  readonly kind: "approval" | "result";
  /** Id of the message that the call belongs to. */
  readonly messageId: string;
  /** Id of the call. */
  readonly toolCallId: string;
  /** Name of the tool. */
  readonly name: string;
  /** Arguments of the call, checked by the tool's schema where it has one. */
  readonly input: unknown;
}

/** Snapshot of a chat. */
export interface ChatState<Output = unknown> {
  /** The branch that is shown. What did not change keeps its identity. */
  readonly messages: readonly ThreadMessage[];
  /** State of the chat. */
  readonly status: ChatStatus;
  /** Error of the last turn; undefined where it did not fail. */
  readonly error: Error | undefined;
  /** Tokens of the last answer; undefined before they are known. */
  readonly usage: ChatUsage | undefined;
  /** Speed of the last answer; undefined before the first has ended. */
  readonly timing: ChatTiming | undefined;
  /** With a `schema`: the last answer as a value, partial until the message's `outcome` is `complete`. */
  readonly object: DeepPartial<Output> | undefined;
  /** Tool calls of the last message that wait. The same in all tabs that show the chat; the first answer counts. */
  readonly pendingActions: readonly PendingAction[];
  /** Texts of the messages that `whenBusy: "queue"` holds back, oldest first. */
  readonly queued: readonly string[];
  /** True until the thread has been read from `storage`, for 3 s at most. What is read later is added then. */
  readonly isRestoring: boolean;
}

/** A value of which only a part has come: anything may still be missing. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? readonly DeepPartial<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> }
    : T;

const none: readonly PendingAction[] = [];

/** The calls of a message that wait; the same array for the same message. */
export function createPendingReader(): (message: ThreadMessage | undefined) => readonly PendingAction[] {
  let last: { of: unknown; actions: readonly PendingAction[] } = { of: undefined, actions: none };
  return (message) => {
    const of = message?.toolCalls;
    if (last.of !== of) last = { of, actions: pendingOf(message) };
    return last.actions;
  };
}

function pendingOf(message: ThreadMessage | undefined): readonly PendingAction[] {
  const waiting = message?.toolCalls?.filter(isPending) ?? [];
  if (!message || waiting.length === 0) return none;
  return waiting.map(({ id, name, input, state }) => ({
    kind: state === "needs-approval" ? "approval" : "result",
    messageId: message.id,
    toolCallId: id,
    name,
    input,
  }));
}
