import { type ChatModel, type Client, ConfigurationError } from "@sluice/core";
import {
  createRandomId,
  createReader,
  createStore,
  noteMistake,
  noteModel,
  noteOptions,
} from "@sluice/core/internal";
import { onForget } from "../storage/in-use.js";
import {
  addAll,
  type Chat,
  forget,
  givenBack,
  lastMessage,
  type OpenTurnRunner,
  type ReadOptions,
  refresh,
  replaceAll,
  snapshotOf,
  stop,
} from "./chat.js";
import type { ChatStore } from "./chat-store.js";
import { threadMessagesOf } from "./initial-messages.js";
import {
  type ChatMessage,
  type ChatToolCall,
  type ChatTurn,
  isOpen,
  isPending,
  withOutput,
} from "./message.js";
import { openChatsOf } from "./open-chats.js";
import type { ChatOptionsFor, ChatStoreOptions } from "./options.js";
import type { ThreadKeeper } from "./persistence/keeper.js";
import type { KeptThread } from "./persistence/parts.js";
import { answersAround, assertContent, type FindPlace, placeOfRetry, placeOfVersion } from "./place.js";
import { createQueue, type QueuedMessage } from "./queue.js";
import { createStorageSession, type StorageSession } from "./storage-session.js";
import { createThread, createThreadList } from "./thread.js";
import { noteCallChange, stopTurn } from "./turn.js";
import { notSent, unlessRefused } from "./turn-ends.js";
import { BUSY, beginTurn, goesOnAfter, questionOf, sendQueued, startIfFree } from "./turns.js";

/**
 * Creates the store of a chat. Nothing is sent before `send`.
 *
 * @param options the options, or a function that returns them and is called at each use, so that none is stale
 * @throws {ConfigurationError} for `storage` without `id`
 * @example
 * ```ts
 * const chat = createChatStore(client, { model: "delta-5.3" });
 * chat.subscribe(() => render(chat.getSnapshot().messages));
 * const { outcome } = await chat.send("Hello");
 * ```
 */
export function createChatStore<Output = unknown, const Model extends string = ChatModel | (string & {})>(
  client: Client,
  options: ChatOptionsFor<Model, Output> | (() => ChatStoreOptions<Output>),
): ChatStore<Output> {
  noteOptions("createChatStore or useChatStream", options, client);
  const own = createReader(options as ChatStoreOptions | (() => ChatStoreOptions));
  return verbsOf(createChat(client, own), own) as ChatStore<Output>;
}

function createChat(client: Client, own: ReadOptions): Chat {
  const { id, initialMessages = [], storage: records, throttleMs = 50, runner } = own();
  if (records && id === undefined)
    throw new ConfigurationError("id: a chat with `storage` needs an `id` to be found again");
  if (runner && !records)
    throw new ConfigurationError(
      "runner: a chat whose turns run elsewhere needs a `storage` that shows them",
    );
  const storage = createStorageSession(
    client,
    records,
    (from) => loadKeeper(chat, { storage: from, collection: `chat/${id}`, initial }),
    () => chat.store.flush(),
    () => forget(chat),
  );
  const thread = createThread((messageId, message) => {
    storage.keeper?.changed(messageId, message);
    // a queued message that is in the thread leaves the queue with the same write
    queue.prune();
  });
  const queue = createQueue<ReadOptions>(
    (messageId) => thread.node(messageId) !== undefined,
    (key) => storage.keeper?.changed(key),
  );
  addAll(thread, threadMessagesOf(initialMessages, "initialMessages"));
  const initial = thread.ids();
  // until the storage is read, new messages follow those that are read later
  if (records) thread.origin = `/${createRandomId()}`;
  const state: Omit<Chat, "store"> = {
    client,
    id,
    thread,
    queue,
    storage,
    own,
    runner: runner as OpenTurnRunner | undefined,
    getThread: createThreadList(thread),
  };
  const chat: Chat = Object.assign(state, {
    store: createStore(() => snapshotOf(state), {
      throttleMs,
      clock: client.clock,
      client,
      onUse: () => onForget(client, () => forget(chat)),
    }),
  });
  return chat;
}

/** Loads the code that keeps a thread in a storage. */
async function loadKeeper(
  chat: Chat,
  place: Pick<KeptThread, "storage" | "collection" | "initial">,
): Promise<ThreadKeeper> {
  chat.runner?.prepare();
  const { createKeeper } = await import("./persistence.js");
  return createKeeper({
    ...chat,
    ...place,
    isRunning: () => chat.turn !== undefined,
    onMerge: () => showMerged(chat),
    resume: (left) => resumeLeft(chat, left),
  });
}

/** Makes the verbs of a chat, for a caller with its own options. */
function verbsOf(chat: Chat, read: ReadOptions): ChatStore {
  const { client, thread, queue, storage, store } = chat;
  const startWhenReady = (find: FindPlace, message?: QueuedMessage) =>
    use(chat).whenReady(() => startIfFree(chat, read, find, message));
  const sendWhenReady = (message: QueuedMessage) => startWhenReady(questionOf(chat, read, message), message);
  const react = (toolCallId: string, state: ChatToolCall["state"], change: CallChange) =>
    reactToCall(chat, read, toolCallId, state, change);
  /** Notes the error of a call that changed nothing: no state shows it. A user who presses a key twice makes no mistake. */
  const noted = (turn: Promise<ChatTurn>) => {
    turn.then(
      ({ error }) => error?.message !== BUSY && noteMistake(error, client),
      () => {},
    );
    return turn;
  };
  const verbs: ChatStore = {
    getSnapshot: store.getSnapshot,
    subscribe(listener) {
      void use(chat).whenRestored(() => {});
      const forgetModel = noteModel(client, chat.id, read);
      const unsubscribe = store.subscribe(listener);
      return () => {
        forgetModel();
        unsubscribe();
      };
    },
    send(content, options = {}) {
      noteOptions("a message", options, client);
      const { images = [] } = options;
      // checked before it is queued, and before it stops an answer
      return noted(
        unlessRefused(
          () => assertContent(content, images),
          () => sendWhenReady({ content, images }),
        ),
      );
    },
    stop() {
      const last = lastMessage(chat);
      if (last && !chat.turn) storage.keeper?.stopElsewhere?.(last.id);
      stop(chat);
    },
    retry: () => use(chat).whenReady(() => retry(chat, read)),
    cancelQueued(id) {
      queue.drop(id, givenBack(chat));
      store.flush();
    },
    regenerate: (messageId) => noted(startWhenReady(() => placeOfVersion(thread, messageId))),
    edit: (messageId, content, { images } = {}) =>
      noted(sendWhenReady({ content, images, versionOf: messageId })),
    getThread: chat.getThread,
    switchBranch(messageId) {
      thread.choose(messageId);
      storage.keeper?.changed(messageId);
      refresh(chat);
    },
    approve: (toolCallId) => react(toolCallId, "needs-approval", (call) => ({ ...call, state: "running" })),
    deny: (toolCallId, error = "the user did not allow the call") =>
      react(toolCallId, "needs-approval", (call) => ({ ...call, state: "denied", error })),
    addToolOutput: (toolCallId, output) =>
      react(toolCallId, "needs-output", (call) => withOutput(call, output)),
    setMessages(messages) {
      const given = threadMessagesOf(messages, "messages");
      void use(chat).whenRestored(() => replaceAll(chat, given));
    },
    reset: () => void use(chat).whenRestored(() => replaceAll(chat, [])),
    close() {
      if (storage.phase !== "none")
        queue.close(new DOMException("The chat was closed; its messages stay queued", "AbortError"));
      stop(chat, storage.keeper?.stopElsewhere !== undefined);
      chat.closing?.abort(new DOMException("The chat was closed; its server goes on", "AbortError"));
      chat.closing = undefined;
      storage.close();
      unlist(chat);
    },
    withOptions: (options) => verbsOf(chat, createReader(options)),
  };
  const all = { ...verbs, ...chat.runner?.createVerbs(chat, read, verbs) };
  chat.verbs ??= all;
  return all;
}

/** Lists a chat as open, and returns its storage. */
function use({ client, id, verbs, storage }: Chat): StorageSession {
  const { byId, notify } = openChatsOf(client);
  if (id !== undefined && verbs && byId.get(id) !== verbs) {
    byId.set(id, verbs);
    notify();
  }
  return storage;
}

function unlist({ client, id = "", verbs }: Chat): void {
  const { byId, notify } = openChatsOf(client);
  if (byId.get(id) !== verbs) return;
  byId.delete(id);
  notify();
}

/** Repeats the last request, unless another tab does so first. Without one that failed, it sends the first queued message. */
function retry(chat: Chat, read: ReadOptions): Promise<ChatTurn> {
  const { thread, queue, storage, turn } = chat;
  const last = lastMessage(chat);
  const [queued] = turn || hasFailed(last) ? [] : queue.sendable(true);
  if (queued) return sendQueued(chat, queued);
  const start = () =>
    startIfFree(chat, read, () => placeOfRetry(thread, last && thread.node(last.id)?.message));
  if (!last || chat.turn) return start();
  const known = answersAround(thread, last).length;
  return storage.withLockOf(last.id, () =>
    answersAround(thread, last).length > known
      ? notSent(new ConfigurationError("another tab went on"))
      : start(),
  );
}

/** True for a message whose answer failed, was stopped or is missing: the queue waits for it. */
function hasFailed(last: ChatMessage | undefined): boolean {
  return last !== undefined && last.role !== "system" && !goesOnAfter(last.outcome);
}

/** Shows what another tab has changed. */
function showMerged(chat: Chat): void {
  const { thread, turn } = chat;
  // another tab cleared the chat
  const worked = thread.node(turn?.workedOn);
  // or stopped the answer, on another device
  if (turn?.workedOn !== undefined && (!worked || worked.isStopped)) stopTurn(turn);
  refresh(chat);
  chat.runner?.onMerge(chat);
}

/** Continues an answer, or its tools, that a closed tab has left; undefined where that is not possible now. */
function resumeLeft(chat: Chat, left: ChatMessage): Promise<ChatTurn> | undefined {
  const { thread, turn, own } = chat;
  if (turn || lastMessage(chat)?.id !== left.id) return undefined;
  const added = [left.id];
  const isUnderWay = left.outcome === undefined;
  return isUnderWay
    ? beginTurn(chat, () => ({ below: thread.parentOf(left.id), added }), own, { left })
    : beginTurn(chat, () => ({ below: left.id, added }), own, { message: left.id });
}

/** Change of a call that the user or the app has reacted to. */
type CallChange = (call: ChatToolCall) => ChatToolCall;

/**
 * Changes the call that waits in this state, and continues the turn when no call waits any more. The first reaction of
 * all tabs counts.
 */
function reactToCall(
  chat: Chat,
  read: ReadOptions,
  toolCallId: string,
  state: ChatToolCall["state"],
  change: CallChange,
): Promise<ChatTurn> {
  const { storage } = chat;
  const findCall = (message: ChatMessage | undefined) =>
    message?.toolCalls?.find((call) => call.id === toolCallId && call.state === state);
  return storage.whenReady(() => {
    const message = lastMessage(chat);
    if (!message || !findCall(message) || chat.turn) return react();
    return storage.withLockOf(message.id, () => react(message.id));
  });

  /** @param locked id of the message whose call waited before this tab waited for the lock */
  function react(locked?: string): ChatTurn | Promise<ChatTurn> {
    const message = lastMessage(chat);
    const call = findCall(message);
    if (message && call) return changeCall(chat, read, message, call, change);
    // another tab answered the call, and was closed before it continued
    if (message && message.id === locked && !chat.turn && !message.toolCalls?.some(isOpen))
      return continueTurn(chat, read, locked);
    const unknown = `toolCallId: no call "${toolCallId}" waits for this`;
    return chat.turn?.result ?? notSent(new ConfigurationError(unknown));
  }
}

/** Changes a call. The turn in flight takes the change over; without one the turn continues. */
function changeCall(
  chat: Chat,
  read: ReadOptions,
  message: ChatMessage,
  call: ChatToolCall,
  change: CallChange,
): ChatTurn | Promise<ChatTurn> {
  const { turn } = chat;
  const toolCalls = message.toolCalls?.map((each) => (each === call ? change(call) : each)) ?? [];
  const changed = { ...message, toolCalls };
  chat.thread.put(changed);
  chat.store.flush();
  if (turn) {
    noteCallChange(turn);
    return turn.result;
  }
  const isHeldUp = toolCalls.some(isPending) && !toolCalls.some(({ state }) => state === "running");
  return isHeldUp ? { messages: [changed], outcome: "tool-calls" } : continueTurn(chat, read, message.id);
}

function continueTurn(chat: Chat, read: ReadOptions, message: string): Promise<ChatTurn> {
  return beginTurn(chat, () => ({ below: message, added: [message] }), chat.options ?? read, { message });
}
