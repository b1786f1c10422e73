import type { ChatUsage } from "@sluice/core";
import type { ChatTiming } from "@sluice/core/internal";
import { type ChatMessage, type ChatToolCall, isPending } from "./message.js";

/**
 * Status of a chat.
 *
 * - `ready`: waits for the next message
 * - `submitted`: waits for the first token
 * - `streaming`: text comes or tools run
 * - `requires-action`: a tool call waits for the user or the app
 * - `error`: the last turn failed
 */
export type ChatStatus = "ready" | "submitted" | "streaming" | "requires-action" | "error";

/** A tool call that waits for `approve` or `deny`, or for `addToolOutput`. */
export interface PendingAction {
  /** `approval`: `approve` or `deny` answers it. `output`: `addToolOutput` does. */
  readonly type: "approval" | "output";
  /** Id of the message that the call belongs to. */
  readonly messageId: string;
  /** Id of the call. */
  readonly toolCallId: string;
  /** Name of the tool. */
  readonly name: string;
  /** Arguments of the call, checked with the tool's schema if it has one. */
  readonly input: unknown;
}

/** Snapshot of a chat. */
export interface ChatState<Output = unknown> {
  /** Messages of the shown branch. A message that did not change is the same object. */
  readonly messages: readonly ChatMessage[];
  /** State of the chat. */
  readonly status: ChatStatus;
  /** Error of the last turn; undefined where it did not fail. */
  readonly error: Error | undefined;
  /** Tokens of the last answer; undefined before they are known. */
  readonly usage: ChatUsage | undefined;
  /** Speed of the last answer; undefined before the first has ended. */
  readonly timing: ChatTiming | undefined;
  /** With an `outputSchema`: the last answer as a value, partial until the message's `outcome` is `complete`. */
  readonly output: DeepPartial<Output> | undefined;
  /**
   * Tool calls of the last message that wait for the user or the app. All tabs show the same ones; the first
   * reaction counts.
   */
  readonly pendingActions: readonly PendingAction[];
  /**
   * Messages that `whenBusy: "queue"` holds back, oldest first. `cancelQueued` drops one. With a `storage` they are there
   * after a reload and in all tabs; the tab that queued a message sends it.
   */
  readonly queued: readonly { readonly id: string; readonly content: string }[];
  /**
   * Number of messages whose last change could not be written to `storage`, and still is not. They are tried again
   * while the page lives, and are lost if it ends before. 0 while writes go well, and without a `storage`.
   */
  readonly unsaved: number;
  /**
   * True until the thread was read from `storage`, for at most 3 s. Messages that are read later are added
   * then.
   */
  readonly isRestoring: boolean;
  /**
   * True while another tab or device works on the last shown message: its answer grows here, too, and `stop()` ends it
   * where devices share the storage.
   */
  readonly isRunningElsewhere: boolean;
  /**
   * True while the server that keeps this chat for several devices lacks messages of this device, or this one reads what
   * the server has. What is not sent yet is kept on this device, also over a reload. False while `syncError` is set, and
   * for a storage of this device alone.
   */
  readonly isSyncing: boolean;
  /** Reason why the server has not got the messages of this device; undefined while it has, or gets them. */
  readonly syncError: Error | undefined;
}

/** Value that is still incomplete: any part of it may be missing. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? readonly DeepPartial<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> }
    : T;

const none: readonly PendingAction[] = [];
const pending = new WeakMap<readonly ChatToolCall[], readonly PendingAction[]>();

/** Lists the calls of a message that wait; the same array for the same calls. */
export function pendingActionsOf(message: ChatMessage | undefined): readonly PendingAction[] {
  const { id: messageId = "", toolCalls = [] } = message ?? {};
  const waiting = toolCalls.filter(isPending);
  if (waiting.length === 0) return none;
  const known = pending.get(toolCalls);
  if (known) return known;
  const actions = waiting.map(
    ({ id, name, input, state }): PendingAction => ({
      type: state === "needs-approval" ? "approval" : "output",
      messageId,
      toolCallId: id,
      name,
      input,
    }),
  );
  pending.set(toolCalls, actions);
  return actions;
}
