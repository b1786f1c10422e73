import type { Client } from "@sluice/core";
import { createRandomId, type StoreControl } from "@sluice/core/internal";
import type { ChatStore } from "./chat-store.js";
import { type ChatMessage, type ChatNode, isOpen, isPending } from "./message.js";
import type { ChatStoreOptions } from "./options.js";
import { closeCalls, closePassedCalls } from "./place.js";
import type { MessageQueue } from "./queue.js";
import { type ChatState, type ChatStatus, pendingActionsOf } from "./state.js";
import { isRestoring, type StorageSession } from "./storage-session.js";
import type { Thread } from "./thread.js";
import { isServers, type PlacedMessage } from "./tree.js";
import { showGrowth, stopTurn, type Turn } from "./turn.js";

/** Returns the options at the time of their use. */
export type ReadOptions = () => ChatStoreOptions;

/** Runs the turns of a chat elsewhere. Only the sync lab makes one: the parameters are internal and may change. */
export interface TurnRunner {
  /** Makes the verbs that hand turns over: of a chat, its options, and the verbs of the page. */
  readonly createVerbs: (chat: never, read: never, verbs: ChatStore) => Partial<ChatStore>;
  /** Called before a chat is restored: it may load what a page without a network needs later. */
  readonly prepare: () => void;
  /** Called after others have changed the thread of a chat. */
  readonly onMerge: (chat: never) => void;
}

/** The same with the types that the chat gives. */
export interface OpenTurnRunner extends TurnRunner {
  readonly createVerbs: (chat: Chat, read: ReadOptions, verbs: ChatStore) => Partial<ChatStore>;
  readonly onMerge: (chat: Chat) => void;
}

/** A chat: its parts, and the turn in flight. */
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
  /** Runs the turns elsewhere; undefined where this page does. */
  readonly runner: OpenTurnRunner | undefined;
  /** Number of turns that this page has handed to the server, and that have not ended. */
  handedOver?: number;
  /** Ends what waits to be handed to the server, when the user stops. */
  stopping?: AbortController | undefined;
  /** Ends the waits for turns of the server, when the chat is closed. */
  closing?: AbortController | undefined;
  /** The chat as its first caller has it. */
  verbs?: ChatStore;
  /** The turn in flight. */
  turn?: Turn | undefined;
  /** Error of the last turn; undefined while one is in flight. */
  error?: Error | undefined;
  /** Options of the last turn. */
  options?: ReadOptions;
}

/** Finds the last shown message. */
export function lastMessage({ thread }: Pick<Chat, "thread">): ChatMessage | undefined {
  return thread.path.at(-1);
}

/** Shows a thread that another tab may have changed meanwhile. */
export function refresh({ thread, store }: Pick<Chat, "thread" | "store">): void {
  closePassedCalls(thread);
  store.flush();
}

/**
 * Ends the turn in flight, the waits of verbs, and the queue of this page.
 *
 * @param isLeft true where the calls that wait are left to other devices
 */
export function stop(chat: Chat, isLeft = false): void {
  const { thread, queue, storage, store, turn } = chat;
  queue.dropAll(givenBack(chat), false);
  storage.stop(stopped());
  if (turn) stopTurn(turn);
  else if (!isLeft) closeCalls(thread, "the user stopped before the call had a result");
  store.flush();
}

/** Stops, and replaces the whole thread. */
export function replaceAll(chat: Chat, messages: readonly ChatMessage[]): void {
  stop(chat);
  const { thread, queue, store } = chat;
  queue.dropAll(stopped(), true);
  chat.error = undefined;
  for (const known of thread.ids()) thread.remove(known);
  // their responses have new keys: a server that remembers may still have those that the app has taken away
  addAll(thread, messages, createRandomId);
  store.flush();
}

/** Removes all, and reads nothing until the returned function is called: the storage has removed it, too. */
export function forget(chat: Chat): () => void {
  const { storage } = chat;
  const wasOpen = storage.phase === "reading" || storage.phase === "open";
  replaceAll(chat, []);
  storage.close();
  return () => {
    if (wasOpen) void storage.whenRestored(() => {});
  };
}

/** Adds messages to a thread, each below the one before. */
export function addAll(
  thread: Thread,
  messages: readonly ChatMessage[],
  newKey: () => string | undefined = () => undefined,
): void {
  messages.forEach((message, index) => {
    thread.add(message, messages[index - 1]?.id, newKey());
  });
}

/** Makes the error of a queued message that is given back. */
export function givenBack({ storage }: Chat): DOMException {
  return storage.keeper?.sync()?.error
    ? stopped("; until this device is back in touch with the server, another one may still send it")
    : stopped();
}

/** Makes the error of a turn that was stopped before it began. */
export function stopped(more = ""): DOMException {
  return new DOMException(`The chat was stopped before its turn${more}`, "AbortError");
}

/** Computes the state of a chat as it is shown. A response in flight that has grown is put into the thread first. */
export function snapshotOf(chat: Omit<Chat, "store">): ChatState {
  const { thread, queue, storage, turn, error } = chat;
  if (turn) showGrowth(turn);
  const messages = thread.path;
  const last = messages.findLast(({ role }) => role === "assistant");
  const pendingActions = pendingActionsOf(messages.at(-1));
  const { keeper, phase } = storage;
  const sync = keeper?.sync();
  const isGivenUp = phase === "open" || phase === "closed";
  return {
    messages,
    status: statusOf(chat, pendingActions.length > 0),
    error,
    usage: last?.usage,
    timing: last?.timing,
    output: last?.output as ChatState["output"],
    pendingActions,
    queued: queue.shown,
    unsaved: keeper ? keeper.unsaved() : isGivenUp ? thread.ids().length : 0,
    isRestoring: isRestoring(phase),
    isRunningElsewhere: !turn && keeper !== undefined && isAtWork(messages.at(-1)),
    isSyncing: sync?.isSyncing ?? false,
    syncError: sync?.error,
  };
}

/** True for a response without an end, or with calls that run. */
function isAtWork({ role, outcome, toolCalls }: Partial<ChatMessage> = {}): boolean {
  const isRunning = toolCalls?.some(({ state }) => state === "streaming" || state === "running");
  return role === "assistant" && (outcome === undefined || isRunning === true);
}

function statusOf(chat: Omit<Chat, "store">, isWaiting: boolean): ChatStatus {
  const { turn, error, thread } = chat;
  if (!turn && !isWaiting && isServing(chat)) {
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

/** True while the server works on a turn of a chat whose turns it runs. */
export function isServing({
  handedOver = 0,
  thread,
  runner,
}: Pick<Chat, "handedOver" | "thread" | "runner">): boolean {
  if (!runner) return false;
  const node = thread.node(thread.path.at(-1)?.id);
  return handedOver > 0 || (node !== undefined && isServers(node) && goesOn(node));
}

/** True for the last message of a turn that goes on by itself. */
function goesOn(node: PlacedMessage): boolean {
  const { role, outcome, toolCalls = [] } = node.message;
  if (role !== "assistant") return false;
  const isRunning = toolCalls.some((call) => isOpen(call) && !isPending(call));
  return outcome === undefined || isRunning || (isBetweenSteps(node) && !toolCalls.some(isPending));
}

/** True for a response that another one follows, once its calls have results. With an error or a stop none does. */
export function isBetweenSteps({ message, isStopped }: PlacedMessage): boolean {
  return message.outcome === "tool-calls" && !message.error && !isStopped;
}

/** Returns the signal of the next stop of a chat. */
export function stopSignalOf(chat: Pick<Chat, "stopping">): AbortSignal {
  chat.stopping ??= new AbortController();
  return chat.stopping.signal;
}
