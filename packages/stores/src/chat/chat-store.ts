import type { Store } from "@sluice/core";
import type { ImageInput } from "./attachments.js";
import type { InitialMessage } from "./initial-messages.js";
import type { ChatNode, ChatTurn } from "./message.js";
import type { ChatStoreOptions } from "./options.js";
import type { ChatState } from "./state.js";

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
