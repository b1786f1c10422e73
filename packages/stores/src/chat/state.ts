import type { ChatUsage, StorageStatus } from "@sluice/core";
import type { ChatMessage, ChatTiming } from "./message.js";

/**
 * Status of a chat.
 *
 * - `ready`: waits for the next message
 * - `submitted`: waits for the first token
 * - `streaming`: text arrives or tools run
 * - `requires-action`: a tool call waits for the user or the app
 * - `error`: the last turn failed
 */
export type ChatStatus = "ready" | "submitted" | "streaming" | "requires-action" | "error";

/** A tool call that waits for `approve` or `deny`, or for `addToolOutput`. */
export interface PendingAction {
  /** `approval`: call `approve` or `deny`. `output`: call `addToolOutput`. */
  readonly type: "approval" | "output";
  /** Id of the message with the call. */
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
  /** Error of the last turn; undefined if it did not fail. */
  readonly error: Error | undefined;
  /** Tokens of the last response; undefined before they are known. */
  readonly usage: ChatUsage | undefined;
  /** Speed of the last response; undefined before the first response has ended. */
  readonly timing: ChatTiming | undefined;
  /** With an `outputSchema`: the last response as a value, partial until the message's `outcome` is `complete`. */
  readonly output: DeepPartial<Output> | undefined;
  /**
   * Tool calls of the last message that wait for the user or the app. All tabs show the same calls, and the first reaction
   * counts.
   */
  readonly pendingActions: readonly PendingAction[];
  /**
   * Messages that `whenBusy: "queue"` holds back, oldest first. `cancelQueued` drops one. They last as long as the page, and
   * other tabs do not show them.
   */
  readonly queued: readonly { readonly id: string; readonly content: string }[];
  /** How much of the chat is stored; undefined without a `storage`. */
  readonly persistence: StorageStatus | undefined;
  /**
   * True while another tab, or a runner elsewhere, works on the last shown message. Its response grows here, too.
   */
  readonly isRunningElsewhere: boolean;
}

/** Incomplete value: any part of it may be missing. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? readonly DeepPartial<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> }
    : T;
