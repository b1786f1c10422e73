import type { Client } from "@sluice/core";
import { createRandomId, type StoreControl } from "@sluice/core/internal";
import type { ChatStore } from "./chat-store.js";
import { closeLastCalls, closeSkippedCalls } from "./insertion-point.js";
import { type ChatMessage, type ChatNode, isOpen, isPending } from "./message.js";
import type { ChatStoreOptions } from "./options.js";
import type { MessageQueue } from "./queue.js";
import { isRestoring, type StorageSession } from "./session.js";
import { type ChatState, type ChatStatus, listPendingActions } from "./state.js";
import type { Thread } from "./thread.js";
import { isFromServer, type MessageNode } from "./tree.js";
import { showGrowth, stopTurn, type Turn } from "./turn.js";

/** Returns the options at the time of their use. */
export type ReadOptions = () => ChatStoreOptions;

/** Runs the turns of a chat on a server. Only the sync lab creates one: the parameters are internal and may change. */
export interface TurnRunner {
  /** Creates the methods that send turns to the server, from a chat, its options, and the methods of the page. */
  readonly createVerbs: (chat: never, read: never, verbs: ChatStore) => Partial<ChatStore>;
  /** Called before a chat is restored. It may load code that an offline page needs later. */
  readonly prepare: () => void;
  /** Called after other tabs or devices have changed the thread of a chat. */
  readonly onMerge: (chat: never) => void;
}

/** {@link TurnRunner} with the internal types. */
export interface OpenTurnRunner extends TurnRunner {
  readonly createVerbs: (chat: Chat, read: ReadOptions, verbs: ChatStore) => Partial<ChatStore>;
  readonly onMerge: (chat: Chat) => void;
}

/** State of a chat, with the turn in flight. */
export interface Chat {
  readonly client: Client;
  readonly id: string | undefined;
  readonly thread: Thread;
  readonly queue: MessageQueue<ReadOptions>;
  readonly storage: StorageSession;
  readonly store: StoreControl<ChatState>;
  /** Lists the messages of all branches. */
  readonly getThread: () => readonly ChatNode[];
  /** Options of the first caller. */
  readonly own: ReadOptions;
  /** Runs the turns on a server; undefined if this page runs them. */
  readonly runner: OpenTurnRunner | undefined;
  /** Number of turns that this page has sent to the server and that have not ended. */
  handedOver?: number;
  /** Aborts waits for sending turns to the server, when the user stops. */
  stopping?: AbortController | undefined;
  /** Aborts waits for turns of the server, when the chat is closed. */
  closing?: AbortController | undefined;
  /** The store that the first caller has. */
  verbs?: ChatStore;
  /** The turn in flight. */
  turn?: Turn | undefined;
  /** Error of the last turn; undefined while one is in flight. */
  error?: Error | undefined;
  /** Options of the last turn. */
  options?: ReadOptions;
}

/** Returns the last shown message. */
export function getLastMessage({ thread }: Pick<Chat, "thread">): ChatMessage | undefined {
  return thread.path.at(-1);
}

/** Shows a thread that another tab may have changed. */
export function refresh({ thread, store }: Pick<Chat, "thread" | "store">): void {
  closeSkippedCalls(thread);
  store.flush();
}

/**
 * Ends the turn in flight, the waits of methods, and the queue of this page.
 *
 * @param isLeft true if other devices may still handle the pending calls
 */
export function stop(chat: Chat, isLeft = false): void {
  const { thread, queue, storage, store, turn } = chat;
  queue.dropAll(createGivenBackError(chat), false);
  storage.stop(createStoppedError());
  if (turn) stopTurn(turn);
  else if (!isLeft) closeLastCalls(thread, "the user stopped before the call had a result");
  store.flush();
}

/** Stops the turn in flight and replaces the thread. */
export function replaceAll(chat: Chat, messages: readonly ChatMessage[]): void {
  stop(chat);
  const { thread, queue, store } = chat;
  queue.dropAll(createStoppedError(), true);
  chat.error = undefined;
  for (const known of thread.listIds()) thread.remove(known);
  // new idempotency keys, because a proxy may still store responses that the app has removed
  addAll(thread, messages, createRandomId);
  store.flush();
}

/** Removes all messages. Reads nothing until the caller has cleared the storage and calls the returned function. */
export function forget(chat: Chat): () => void {
  const { storage } = chat;
  const wasOpen = storage.phase === "reading" || storage.phase === "open";
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

/** Creates the error of a queued message that is dropped. */
export function createGivenBackError({ storage }: Chat): DOMException {
  return storage.records?.getSyncStatus()?.error
    ? createStoppedError("; until this device is online again, another device may still send it")
    : createStoppedError();
}

/** Creates the error of a turn that was stopped before it began. */
export function createStoppedError(more = ""): DOMException {
  return new DOMException(`The chat was stopped before its turn${more}`, "AbortError");
}

/** Creates the snapshot of a chat. Adds new text of the response in flight to the thread first. */
export function createSnapshot(chat: Omit<Chat, "store">): ChatState {
  const { thread, queue, storage, turn, error } = chat;
  if (turn) showGrowth(turn);
  const messages = thread.path;
  const last = messages.findLast(({ role }) => role === "assistant");
  const pendingActions = listPendingActions(messages.at(-1));
  const { records, phase } = storage;
  const sync = records?.getSyncStatus();
  const isGivenUp = phase === "open" || phase === "closed";
  return {
    messages,
    status: computeStatus(chat, pendingActions.length > 0),
    error,
    usage: last?.usage,
    timing: last?.timing,
    output: last?.output as ChatState["output"],
    pendingActions,
    queued: queue.shown,
    unsaved: records ? records.countUnsaved() : isGivenUp ? thread.listIds().length : 0,
    isRestoring: isRestoring(phase),
    isRunningElsewhere: !turn && records !== undefined && isUnfinishedResponse(messages.at(-1)),
    isSyncing: sync?.isSyncing ?? false,
    syncError: sync?.error,
  };
}

/** Returns true for a response in flight, or with running calls. */
function isUnfinishedResponse({ role, outcome, toolCalls }: Partial<ChatMessage> = {}): boolean {
  const isRunning = toolCalls?.some(({ state }) => state === "streaming" || state === "running");
  return role === "assistant" && (outcome === undefined || isRunning === true);
}

function computeStatus(chat: Omit<Chat, "store">, isWaiting: boolean): ChatStatus {
  const { turn, error, thread } = chat;
  if (!turn && !isWaiting && isServerWorking(chat)) {
    const { role, content } = thread.path.at(-1) ?? {};
    return role === "assistant" && content ? "streaming" : "submitted";
  }
  switch (turn?.state.name) {
    case "placing":
    case "requesting":
      return "submitted";
    case "responding":
      return turn?.response?.isWaiting ? "submitted" : "streaming";
    case "calling":
      return "streaming";
    default:
      return isWaiting ? "requires-action" : error ? "error" : "ready";
  }
}

/** Returns true while a server works on a turn of the chat. */
export function isServerWorking({
  handedOver = 0,
  thread,
  runner,
}: Pick<Chat, "handedOver" | "thread" | "runner">): boolean {
  if (!runner) return false;
  const node = thread.get(thread.path.at(-1)?.id);
  return handedOver > 0 || (node !== undefined && isFromServer(node) && isContinuing(node));
}

/** Returns true if the turn of this last message continues without the user. */
function isContinuing(node: MessageNode): boolean {
  const { role, outcome, toolCalls = [] } = node.message;
  if (role !== "assistant") return false;
  const isRunning = toolCalls.some((call) => isOpen(call) && !isPending(call));
  return outcome === undefined || isRunning || (isBetweenSteps(node) && !toolCalls.some(isPending));
}

/** Returns true if another response follows once the calls have results. After an error or a stop, none follows. */
export function isBetweenSteps({ message, isStopped }: MessageNode): boolean {
  return message.outcome === "tool-calls" && !message.error && !isStopped;
}

/** Returns the signal that aborts when the chat is stopped. */
export function getStopSignal(chat: Pick<Chat, "stopping">): AbortSignal {
  chat.stopping ??= new AbortController();
  return chat.stopping.signal;
}
