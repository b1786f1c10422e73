import type { Store } from "@sluice/core";
import type { ImageInput } from "./attachments.js";
import type { InitialMessage } from "./initial-messages.js";
import type { ChatNode, ChatTurn } from "./message.js";
import type { ChatStoreOptions } from "./options.js";
import type { ChatState } from "./state.js";

/** Attachments of a message. */
export interface SendOptions {
  /** Images of the message, for models that see images: files, http(s) URLs or data URLs. */
  readonly images?: readonly ImageInput[];
}

/**
 * Store of a chat: a thread of messages with branches, and the turn in flight. Its promises never reject. Each resolves
 * to the turn when the turn has ended, or waits for the user or the app.
 */
export interface ChatStore<Output = unknown> extends Store<ChatState<Output>> {
  /**
   * Appends a message of the user and requests an answer. Tool calls that still wait are cancelled. A message
   * without text and images is `not-sent` and not added.
   */
  send(content: string, options?: SendOptions): Promise<ChatTurn>;
  /**
   * Ends the turn in flight. The text so far stays, open tool calls are cancelled, and the queued messages of
   * this page are given back: their turns are `not-sent`. Queued messages of an earlier page stay in `queued`. A
   * turn that waits for the storage or another tab is `not-sent`. Where devices share the storage, one that was cut off
   * may give back a message that another one still sends.
   */
  stop(): void;
  /**
   * Repeats the request whose answer failed or was stopped; results of tools are kept. An answer that a proxy still
   * keeps is read to its end instead, and nothing is requested. After `step-limit` it continues, with `maxSteps`
   * more answers. Where no answer failed, it sends the first message of `queued`; the others follow as usual. With
   * nothing to send the turn is `not-sent`, and the chat stays as it is.
   */
  retry(): Promise<ChatTurn>;
  /**
   * Requests another version of an answer, by default of the whole last turn. The old version stays as a
   * branch.
   */
  regenerate(messageId?: string): Promise<ChatTurn>;
  /** Adds another version of a user's message and requests an answer. The old version stays as a branch. */
  edit(messageId: string, content: string, options?: SendOptions): Promise<ChatTurn>;
  /**
   * Returns the messages of all branches. Each comes directly after the one before it, or after all that follows its
   * older versions: parents stand before children, and the versions of a message in the order of its `branches`. An entry
   * stays the same object while its message and its place do, and the array while all its entries do. An answer in
   * flight is as in `getSnapshot()`.
   *
   * @example
   * ```ts
   * const versionsOf = (chat: ChatStore, { id, branches = [id] }: ChatMessage) =>
   *   chat.getThread().filter((node) => branches.includes(node.id));
   * ```
   */
  getThread(): readonly ChatNode[];
  /** Shows the branch that a message is on. */
  switchBranch(messageId: string): void;
  /** Drops a message of `queued`. Its turn is `not-sent`. */
  cancelQueued(id: string): void;
  /** Allows a tool call to run. A second call changes nothing. */
  approve(toolCallId: string): Promise<ChatTurn>;
  /** Refuses a tool call. The model gets `reason`. */
  deny(toolCallId: string, reason?: string): Promise<ChatTurn>;
  /**
   * Adds the result of a tool call that waits for it. The order does not matter, and a second result changes
   * nothing. The chat continues when all results are there.
   */
  addToolOutput(toolCallId: string, output: unknown): Promise<ChatTurn>;
  /**
   * Stops the turn in flight and replaces the whole thread. Ids may be left out.
   *
   * @throws {ValidationError} for a message that cannot be read; it names the index and the field
   */
  setMessages(messages: readonly InitialMessage[]): void;
  /** Stops the turn in flight and removes all messages. */
  reset(): void;
  /**
   * Stops the turn in flight and closes the storage until the chat is used again. A turn that a server runs goes on there,
   * and its promise resolves with the outcome `truncated`.
   */
  close(): void;
  /**
   * Returns the same chat with other options, for another component that shows it. Turns that `send`,
   * `retry`, `regenerate` and `edit` start use the options of the object that they were called on. `approve`,
   * `deny` and `addToolOutput` continue a turn with the options that it began with. `id`, `initialMessages`,
   * `throttleMs` and `storage` stay those of the first chat.
   */
  withOptions(options: ChatStoreOptions<Output> | (() => ChatStoreOptions<Output>)): ChatStore<Output>;
}
