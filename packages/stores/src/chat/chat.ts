import type { Client } from "@sluice/core";
import { createRandomId, type createStore } from "@sluice/core/extend";
import type { ChatState, ChatStatus, ChatStore, PendingAction } from "./chat-store.js";
import { closeLastCalls, closeSkippedCalls, type InsertionPoint, type Question } from "./insertion-point.js";
import {
  type ChatMessage,
  type ChatNode,
  type ChatToolCall,
  type ChatTurn,
  createUnsentTurn,
  isPending,
} from "./message.js";
import type { ChatStoreOptions } from "./options.js";
import type { CallDecision, RunnerTurns } from "./runner.js";
import type { StorageSession } from "./session.js";
import type { Thread } from "./thread.js";

/** Returns the options at the time of their use. */
export type ReadOptions = () => ChatStoreOptions;

/** A message that waits for the response in flight. */
interface QueuedMessage extends Question {
  /** Id of the message, in the queue and later in the thread. */
  readonly id: string;
  /** Reads the options of the caller. */
  readonly readOptions: ReadOptions;
  /** Ends the promise of the caller, once the message is sent or dropped. */
  readonly resolve: (turn: ChatTurn | Promise<ChatTurn>) => void;
}

/** The turn in flight of a chat: a turn of this page, or of a runner. */
export interface RunningTurn {
  readonly result: Promise<ChatTurn>;
  /** Id of the response in flight or with open calls. Undefined for a turn of a runner. */
  readonly currentMessageId: string | undefined;
  readonly status: "submitted" | "streaming" | undefined;
  /** Puts new text of the response in flight into the thread. */
  readonly showNewText: () => void;
  /** Ends the turn at once. The received text stays. */
  readonly stop: () => void;
  /** Ends the turn in this page. A runner continues it elsewhere. */
  readonly close: () => void;
  /** Reports that a tool call was approved or denied, or got its output. */
  readonly noteCallChange: () => void;
}

/** How a turn of a runner begins. */
export interface RunnerTurnStart {
  /** Point of the thread at which the turn begins, or the id of a message whose turn continues. */
  readonly point: InsertionPoint | Promise<InsertionPoint> | { readonly continuedId: string };
  /** Decision on a pending call. The runner gets it before its turn continues. */
  readonly decision?: CallDecision | undefined;
  readonly onEnd: (turn: ChatTurn) => void;
}

/** State of a chat, with the turn in flight. */
export interface Chat {
  readonly client: Client;
  readonly id: string | undefined;
  readonly thread: Thread;
  /** Messages that wait, oldest first. They last as long as the page. {@link setQueue} changes them. */
  queue: readonly QueuedMessage[];
  /** The same messages for display. */
  queued: ChatState["queued"];
  readonly storage: StorageSession;
  readonly store: ReturnType<typeof createStore<ChatState>>;
  /** Lists the messages of all branches. */
  readonly getThread: () => readonly ChatNode[];
  /** Reads the options of the first caller. */
  readonly readOwnOptions: ReadOptions;
  /** Runs the turns elsewhere; undefined if this page runs them. */
  runner?: RunnerTurns | undefined;
  /** The methods of the first caller, which {@link getOpenChats} lists. */
  methods?: ChatStore;
  /** The turn in flight. */
  turn?: RunningTurn | undefined;
  /** Error of the last turn; undefined while one is in flight. */
  error?: Error | undefined;
  /** Reads the options of the last turn. */
  readTurnOptions?: ReadOptions;
}

/** Shows a thread that another tab may have changed. */
export function refresh({ thread, store }: Pick<Chat, "thread" | "store">): void {
  closeSkippedCalls(thread);
  store.flush();
}

/**
 * Ends the turn in flight, the waits of methods, and the queue of this page.
 *
 * @param keepsCalls true if another device or a runner may still handle the pending calls
 */
export function stop(chat: Chat, keepsCalls = false): void {
  const { thread, storage, store, turn } = chat;
  dropQueued(chat);
  storage.stop(createStoppedError());
  if (turn) turn.stop();
  else if (!keepsCalls) closeLastCalls(thread, "the user stopped before the call had a result");
  store.flush();
}

/** Replaces the queue of a chat. */
export function setQueue(chat: Chat, queue: readonly QueuedMessage[]): void {
  chat.queue = queue;
  chat.queued = queue.map(({ id, content }) => ({ id, content }));
}

/** Drops the queued message with this id, or all messages. Their turns are `not-sent`. */
export function dropQueued(chat: Chat, id?: string): void {
  const dropped = chat.queue.filter((message) => id === undefined || message.id === id);
  if (dropped.length === 0) return;
  setQueue(
    chat,
    chat.queue.filter((message) => !dropped.includes(message)),
  );
  for (const { resolve } of dropped) resolve(createUnsentTurn(createStoppedError()));
}

/** Ends the work of this page. A runner continues its turn, and other devices may handle pending calls. */
export function stopOnThisPage(chat: Chat): void {
  chat.turn?.close();
  const isOfRunner = chat.thread.get(chat.thread.path.at(-1)?.id)?.turn !== undefined;
  stop(chat, isOfRunner || chat.storage.hasServer);
}

/** Stops the turn in flight and replaces the thread. */
export function replaceAll(chat: Chat, messages: readonly ChatMessage[]): void {
  stop(chat);
  const { thread, store } = chat;
  chat.error = undefined;
  for (const known of thread.listIds()) thread.remove(known);
  // new idempotency keys, because a proxy may still store responses that the app has removed
  addAll(thread, messages, createRandomId);
  store.flush();
}

/** Removes all messages. Reads nothing until the caller has cleared the storage and calls the returned function. */
export function forget(chat: Chat): () => void {
  const { storage } = chat;
  const wasOpen = storage.isOpen;
  chat.turn?.close();
  replaceAll(chat, []);
  storage.close();
  return () => {
    if (wasOpen) void storage.whenRestored(() => {});
  };
}

/** Adds messages to a thread, each below its predecessor. */
export function addAll(
  thread: Thread,
  messages: readonly ChatMessage[],
  createKey: () => string | undefined = () => undefined,
): void {
  messages.forEach((message, index) => {
    thread.add(message, messages[index - 1]?.id, createKey());
  });
}

/** Creates the error of a turn that was stopped before it began. */
function createStoppedError(): DOMException {
  return new DOMException("The chat was stopped before its turn", "AbortError");
}

/** Creates the snapshot of a chat. Adds new text of the response in flight to the thread first. */
export function createSnapshot(chat: Omit<Chat, "store">): ChatState {
  const { thread, queued, storage, turn, error } = chat;
  turn?.showNewText();
  const messages = thread.path;
  const last = messages.findLast(({ role }) => role === "assistant");
  const pendingActions = listPendingActions(messages.at(-1));
  return {
    messages,
    status: computeStatus(chat, pendingActions.length > 0),
    error,
    usage: last?.usage,
    timing: last?.timing,
    output: last?.output as ChatState["output"],
    pendingActions,
    queued,
    persistence: storage.status,
    isRunningElsewhere: !turn && storage.isOpen && isRunningElsewhere(chat, messages.at(-1)),
  };
}

/** Returns true for a response in flight, or with running calls, unless its runner has ended the turn. */
function isRunningElsewhere(
  { thread, runner }: Pick<Chat, "thread" | "runner">,
  { id, role, outcome, toolCalls }: Partial<ChatMessage> = {},
): boolean {
  const isRunning = toolCalls?.some(({ state }) => state === "streaming" || state === "running");
  const { turn = "" } = thread.get(id) ?? {};
  return role === "assistant" && (outcome === undefined || isRunning === true) && !runner?.hasEnded(turn);
}

function computeStatus({ turn, error }: Omit<Chat, "store">, isWaiting: boolean): ChatStatus {
  return turn?.status ?? (isWaiting ? "requires-action" : error ? "error" : "ready");
}

const noActions: readonly PendingAction[] = [];
const actionsByCalls = new WeakMap<readonly ChatToolCall[], readonly PendingAction[]>();

/** Lists the pending calls of a message; the same array for the same calls. */
function listPendingActions(message: ChatMessage | undefined): readonly PendingAction[] {
  const { id: messageId = "", toolCalls = [] } = message ?? {};
  const calls = toolCalls.filter(isPending);
  if (calls.length === 0) return noActions;
  const known = actionsByCalls.get(toolCalls);
  if (known) return known;
  const actions = calls.map(
    ({ id, name, input, state }): PendingAction => ({
      type: state === "needs-approval" ? "approval" : "output",
      messageId,
      toolCallId: id,
      name,
      input,
    }),
  );
  actionsByCalls.set(toolCalls, actions);
  return actions;
}

/** The chats with an id that this page uses, from the first use until `close`. */
interface OpenChats {
  readonly byId: Map<string, ChatStore>;
  /** Called when a chat is used for the first time, or closed. */
  readonly listeners: Set<() => void>;
}

const openChats = new WeakMap<Client, OpenChats>();

/** Returns the open chats of a client. */
export function getOpenChats(client: Client): OpenChats {
  const known = openChats.get(client) ?? { byId: new Map(), listeners: new Set() };
  openChats.set(client, known);
  return known;
}

/** Adds a chat to the open chats, and returns its storage for use. */
export function openStorage({ client, id, methods, storage }: Chat): StorageSession {
  const { byId, listeners } = getOpenChats(client);
  if (id !== undefined && methods && byId.get(id) !== methods) {
    byId.set(id, methods);
    for (const notify of listeners) notify();
  }
  return storage;
}

/** Closes the storage of a chat, and removes it from the open chats. */
export function closeStorage({ client, id = "", methods, storage }: Chat): void {
  storage.close();
  const { byId, listeners } = getOpenChats(client);
  if (byId.get(id) !== methods) return;
  byId.delete(id);
  for (const notify of listeners) notify();
}
