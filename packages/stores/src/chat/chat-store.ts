import type { ChatUsage, StorageStatus, Store } from "@sluice/core";
import type { ImageInput } from "./attachments.js";
import type { InitialMessage } from "./initial-messages.js";
import type { ChatMessage, ChatNode, ChatTiming, ChatTurn } from "./message.js";
import type { ChatStoreOptions } from "./options.js";

/** Attachments of a message. */
export interface SendOptions {
  /** Images for models that see images: files, http(s) URLs or data URLs. */
  readonly images?: readonly ImageInput[];
}

/**
 * Store of a chat: a thread of messages with branches, and the turn in flight. Promises never reject. They resolve when
 * the turn ends, or when it waits for the user or the app.
 */
export interface ChatStore<Output = unknown> extends Store<ChatState<Output>> {
  /**
   * Appends a message of the user and requests a response. Pending tool calls are cancelled. A message without text and
   * images is not added, and its turn is `not-sent`.
   */
  send(content: string, options?: SendOptions): Promise<ChatTurn>;
  /**
   * Ends the turn in flight. The received text stays, and open tool calls are cancelled. Queued messages are dropped:
   * their turns are `not-sent`. A turn that waits for the storage or another tab is `not-sent`, too.
   */
  stop(): void;
  /**
   * Repeats the request whose response failed or was stopped. Tool results are reused. If a proxy still stores the
   * response, `retry` reads it to its end and requests nothing. After `step-limit` it allows `maxSteps` more responses. If
   * no response failed, it sends the first message of `queued`, and the others follow. Without anything to send, the turn
   * is `not-sent` and the chat does not change.
   */
  retry(): Promise<ChatTurn>;
  /**
   * Requests another version of a response, by default of the whole last turn. The old version stays as a branch.
   */
  regenerate(messageId?: string): Promise<ChatTurn>;
  /** Adds another version of a user's message and requests a response. The old version stays as a branch. */
  edit(messageId: string, content: string, options?: SendOptions): Promise<ChatTurn>;
  /**
   * Returns the messages of all branches, depth first: parents before children, versions of a message in the order of its
   * `branches`. An entry stays the same object until its message or parent changes. The array stays the same object until
   * an entry changes. A response in flight has the same text as in `getSnapshot()`.
   *
   * @example
   * ```ts
   * const getVersions = (chat: ChatStore, { id, branches = [id] }: ChatMessage) =>
   *   chat.getThread().filter((node) => branches.includes(node.id));
   * ```
   */
  getThread(): readonly ChatNode[];
  /** Shows the branch of a message. */
  switchBranch(messageId: string): void;
  /** Drops a message of `queued`. Its turn is `not-sent`. */
  cancelQueued(id: string): void;
  /** Allows a tool call to run. A second call changes nothing. */
  approve(toolCallId: string): Promise<ChatTurn>;
  /** Denies a tool call. The model gets `reason`. */
  deny(toolCallId: string, reason?: string): Promise<ChatTurn>;
  /**
   * Adds the output of a tool call in the state `needs-output`, in any order. A second output changes nothing. The chat
   * continues when every call has a result.
   */
  addToolOutput(toolCallId: string, output: unknown): Promise<ChatTurn>;
  /**
   * Stops the turn in flight and replaces the thread. Messages without `id` get one.
   *
   * @throws {ValidationError} for an invalid message; it names the index and the field
   */
  setMessages(messages: readonly InitialMessage[]): void;
  /** Stops the turn in flight and removes all messages. */
  reset(): void;
  /**
   * Stops the turn in flight, drops queued messages, and closes the storage until the chat is used again. A turn of a
   * `runner` continues there, and its promise resolves with the outcome `truncated`.
   */
  close(): void;
  /**
   * Returns the same chat with other options, for another component. `send`, `retry`, `regenerate` and `edit` use the
   * options of the object they are called on. `approve`, `deny` and `addToolOutput` continue a turn with its original
   * options. `id`, `initialMessages`, `throttleMs` and `storage` of the first chat do not change.
   */
  withOptions(options: ChatStoreOptions<Output> | (() => ChatStoreOptions<Output>)): ChatStore<Output>;
}

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
