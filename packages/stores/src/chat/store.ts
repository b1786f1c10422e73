import { type ChatModel, type Client, ConfigurationError } from "@sluice/core";
import {
  createOptionsReader,
  createRandomId,
  createStore,
  noteMistake,
  noteOptions,
} from "@sluice/core/extend";
import { registerForget } from "../storage/in-use.js";
import {
  addAll,
  type Chat,
  createSnapshot,
  createStoppedError,
  forget,
  getLastMessage,
  leave,
  type ReadOptions,
  refresh,
  replaceAll,
  stop,
} from "./chat.js";
import type { ChatStore } from "./chat-store.js";
import { parseInitialMessages } from "./initial-messages.js";
import {
  assertContent,
  type FindInsertionPoint,
  findResponsesAround,
  findRetryPoint,
  findVersionPoint,
} from "./insertion-point.js";
import {
  addOutput,
  type ChatMessage,
  type ChatToolCall,
  type ChatTurn,
  isOpen,
  isPending,
} from "./message.js";
import { getOpenChats } from "./open-chats.js";
import type { ChatOptionsFor, ChatStoreOptions } from "./options.js";
import { createQueue, type QueuedMessage } from "./queue.js";
import type { CallDecision } from "./runner.js";
import { noStorage, type StorageSession } from "./session.js";
import type { SessionContext } from "./storage-session.js";
import type { ChatStorage } from "./storages.js";
import { createThread, createThreadList } from "./thread.js";
import { continueIfValid, createUnsentTurn } from "./turn-ends.js";
import {
  BUSY,
  beginRunnerTurn,
  beginTurn,
  canSendNext,
  createQuestion,
  loadRunner,
  sendNext,
  startIfFree,
} from "./turns.js";

/**
 * Creates the store of a chat. Nothing is sent before `send`.
 *
 * @param options the options, or a function that returns the current options at each use
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
  const own = createOptionsReader(options as ChatStoreOptions | (() => ChatStoreOptions));
  return createVerbs(createChat(client, own), own) as ChatStore<Output>;
}

function createChat(client: Client, own: ReadOptions): Chat {
  const { id, initialMessages = [], storage: records, throttleMs = 50, runner } = own();
  if (records && id === undefined)
    throw new ConfigurationError("id: a chat with `storage` needs an `id` to be found again");
  if (records && typeof records.openChat !== "function")
    throw new ConfigurationError(
      "storage: can't store chats: give indexedDBStorage(), or customStorage() with your own",
    );
  assertId(id);
  const storage = records ? openSession(records) : noStorage;
  const thread = createThread((messageId, message) => storage.records?.noteChange(messageId, message));
  addAll(thread, parseInitialMessages(initialMessages, "initialMessages"));
  const initial = thread.listIds();
  // until the storage is read, new messages follow the stored ones
  if (records) thread.origin = `/${createRandomId()}`;
  const state: Omit<Chat, "store"> = {
    client,
    id,
    thread,
    queue: createQueue(),
    storage,
    own,
    runner,
    endedTurns: new Set(),
    attempts: new Map(),
    sync: records?.status,
    getThread: createThreadList(thread),
  };
  const chat: Chat = Object.assign(state, {
    store: createStore(() => createSnapshot(state), {
      throttleMs,
      clock: client.clock,
      client,
      onUse() {
        const unregister = registerForget(client, () => forget(chat));
        const unsubscribe = records?.status?.subscribe(() => chat.store.flush());
        return () => {
          unregister();
          unsubscribe?.();
        };
      },
    }),
  });
  return chat;

  function openSession(from: ChatStorage): StorageSession {
    const openChat = from.openChat as (context: SessionContext) => StorageSession;
    return openChat({
      client,
      async describe() {
        await loadRunner(chat);
        return {
          client,
          thread,
          storage: from,
          collection: `chat/${id}`,
          initial,
          flush: () => chat.store.flush(),
          onMerge: () => showMerged(chat),
          resume: (message) => resumeInterrupted(chat, message),
        };
      },
      onRead: () => chat.store.flush(),
      forget: () => forget(chat),
    });
  }
}

/** Creates the methods of a chat, for a caller with its own options. */
function createVerbs(chat: Chat, read: ReadOptions): ChatStore {
  const { client, thread, queue, storage, store } = chat;
  const startWhenReady = (find: FindInsertionPoint, message?: QueuedMessage) =>
    use(chat).whenReady(() => startIfFree(chat, read, find, message));
  const sendWhenReady = (message: QueuedMessage) =>
    startWhenReady(createQuestion(chat, read, message), message);
  const react = (decision: NewDecision, state: ChatToolCall["state"], change: CallChange) =>
    reactToCall(chat, read, decision, state, change);
  /** Reports the error of a call that changed nothing, because no state shows it. A double click is not a mistake. */
  const noteRefusal = (turn: Promise<ChatTurn>) => {
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
      return store.subscribe(listener);
    },
    send(content, options = {}) {
      noteOptions("a message", options, client);
      const { images = [] } = options;
      // checked before it is queued, and before it stops a response
      return noteRefusal(
        continueIfValid(
          () => assertContent(content, images),
          () => sendWhenReady({ content, images }),
        ),
      );
    },
    stop() {
      stopWaitingTurn(chat, read);
      stop(chat);
    },
    retry: () => use(chat).whenReady(() => retry(chat, read)),
    cancelQueued(id) {
      queue.drop(createStoppedError(), id);
      store.flush();
    },
    regenerate: (messageId) => noteRefusal(startWhenReady(() => findVersionPoint(thread, messageId))),
    edit: (messageId, content, { images } = {}) =>
      noteRefusal(sendWhenReady({ content, images, versionOf: messageId })),
    getThread: chat.getThread,
    switchBranch(messageId) {
      thread.choose(messageId);
      storage.records?.noteChange(messageId);
      refresh(chat);
    },
    approve: (toolCallId) =>
      react({ type: "approve", toolCallId }, "needs-approval", (call) => ({ ...call, state: "running" })),
    deny: (toolCallId, error = "the user did not allow the call") =>
      react({ type: "deny", toolCallId, reason: error }, "needs-approval", (call) => ({
        ...call,
        state: "denied",
        error,
      })),
    addToolOutput: (toolCallId, output) =>
      react({ type: "output", toolCallId, output }, "needs-output", (call) => addOutput(call, output)),
    setMessages(messages) {
      const given = parseInitialMessages(messages, "messages");
      void use(chat).whenRestored(() => replaceAll(chat, given));
    },
    reset: () => void use(chat).whenRestored(() => replaceAll(chat, [])),
    close() {
      leave(chat);
      storage.close();
      removeFromOpenChats(chat);
    },
    withOptions: (options) => createVerbs(chat, createOptionsReader(options)),
  };
  chat.verbs ??= verbs;
  return verbs;
}

/** Adds a chat to the open chats and returns its storage. */
function use({ client, id, verbs, storage }: Chat): StorageSession {
  const { byId, notify } = getOpenChats(client);
  if (id !== undefined && verbs && byId.get(id) !== verbs) {
    byId.set(id, verbs);
    notify();
  }
  return storage;
}

function removeFromOpenChats({ client, id = "", verbs }: Chat): void {
  const { byId, notify } = getOpenChats(client);
  if (byId.get(id) !== verbs) return;
  byId.delete(id);
  notify();
}

/** Repeats the last request, unless another tab does so first. If none failed, sends the first queued message. */
function retry(chat: Chat, read: ReadOptions): Promise<ChatTurn> {
  const { thread, storage } = chat;
  const last = getLastMessage(chat);
  const queued = hasFailed(last) ? undefined : sendNext(chat);
  if (queued) return queued;
  const start = () =>
    startIfFree(chat, read, () => findRetryPoint(thread, last && thread.get(last.id)?.message));
  if (!last || chat.turn) return start();
  const known = findResponsesAround(thread, last).length;
  return storage.runLocked(last.id, () =>
    findResponsesAround(thread, last).length > known
      ? createUnsentTurn(new ConfigurationError("another tab continued the chat"))
      : start(),
  );
}

/** Returns true if the response to a message failed, was stopped or is missing. The queue then waits for the user. */
function hasFailed(last: ChatMessage | undefined): boolean {
  return last !== undefined && last.role !== "system" && !canSendNext(last.outcome);
}

/** Shows the changes of other tabs. */
function showMerged(chat: Chat): void {
  const { thread, turn } = chat;
  const node = thread.get(turn?.workedOn);
  // another tab cleared the chat
  if (turn?.workedOn !== undefined && !node) turn.stop();
  refresh(chat);
  joinRunnerTurn(chat);
}

/** Joins a turn that the runner has begun in another tab, on another device or before a reload. */
function joinRunnerTurn(chat: Chat): void {
  const { thread, own, turn, runnerTurns, endedTurns } = chat;
  const last = getLastMessage(chat);
  const node = thread.get(last?.id);
  if (!node || !runnerTurns?.isContinuing(node) || turn || endedTurns.has(node.turn ?? "")) return;
  void beginRunnerTurn(chat, own, { at: { continued: node.message.id } });
}

/** Tells the runner to end a turn that waits for the user. */
function stopWaitingTurn(chat: Chat, read: ReadOptions): void {
  const { runner, runnerTurns, turn } = chat;
  const last = getLastMessage(chat);
  const waiting =
    !turn && last?.toolCalls?.some(isPending) && runnerTurns?.findRunnerTurn(chat, last.id, read);
  if (runner && runnerTurns && waiting) runnerTurns.stopRunnerTurn(chat, runner, waiting);
}

/** @throws {ConfigurationError} for an id that not every storage can have */
function assertId(id: string | undefined): void {
  if (id === undefined || (id !== "" && id.length <= 200 && !/[\0\p{Surrogate}]/u.test(id))) return;
  throw new ConfigurationError("id: must have 1 to 200 characters, without NUL and lone surrogates");
}

/** Continues a response or its tools after their tab was closed; undefined if that is not possible now. */
function resumeInterrupted(chat: Chat, interrupted: ChatMessage): Promise<ChatTurn> | undefined {
  const { thread, turn, own } = chat;
  const { id, outcome } = interrupted;
  if (turn || getLastMessage(chat)?.id !== id) return undefined;
  return outcome === undefined
    ? beginTurn(chat, () => ({ below: thread.getParent(id), added: [id] }), own, { interrupted })
    : beginTurn(chat, () => ({ below: id, added: [id] }), own, { message: id });
}

/** A decision before its message is known. */
type NewDecision = CallDecision extends infer Decision
  ? Decision extends CallDecision
    ? Omit<Decision, "messageId">
    : never
  : never;

/** Applies the reaction of the user or the app to a call. */
type CallChange = (call: ChatToolCall) => ChatToolCall;

/**
 * Changes the pending call in this state, and continues the turn when no call is pending. The first reaction of all tabs
 * counts.
 */
function reactToCall(
  chat: Chat,
  read: ReadOptions,
  decision: NewDecision,
  state: ChatToolCall["state"],
  change: CallChange,
): Promise<ChatTurn> {
  const { thread, storage } = chat;
  const { toolCallId } = decision;
  const findCall = (message: ChatMessage | undefined) =>
    message?.toolCalls?.find((call) => call.id === toolCallId && call.state === state);
  return storage.whenReady(() => {
    const message = getLastMessage(chat);
    if (message && findCall(message) && thread.get(message.id)?.turn !== undefined)
      return decideElsewhere(chat, read, { ...decision, messageId: message.id });
    if (!message || !findCall(message) || chat.turn) return react();
    return storage.runLocked(message.id, () => react(message.id));
  });

  /** @param locked id of the message whose call was pending before this tab waited for the lock */
  function react(locked?: string): ChatTurn | Promise<ChatTurn> {
    const message = getLastMessage(chat);
    const call = findCall(message);
    if (message && call) return changeCall(chat, read, message, call, change);
    // another tab reacted to the call, and was closed before it continued
    if (message && message.id === locked && !chat.turn && !message.toolCalls?.some(isOpen))
      return continueTurn(chat, read, locked);
    const unknown = `toolCallId: no call "${toolCallId}" waits for this`;
    return chat.turn?.result ?? createUnsentTurn(new ConfigurationError(unknown));
  }
}

/** Passes a decision to the runner of the message's turn, which then continues. */
async function decideElsewhere(chat: Chat, read: ReadOptions, decision: CallDecision): Promise<ChatTurn> {
  const { messageId: continued } = decision;
  await loadRunner(chat);
  const { runner, runnerTurns, turn } = chat;
  const waiting = runnerTurns?.findRunnerTurn(chat, continued, read);
  if (!runner?.decide || !waiting)
    return createUnsentTurn(
      new ConfigurationError("runner: this call belongs to a runner that the chat lacks"),
    );
  if (!turn) return beginRunnerTurn(chat, chat.options ?? read, { at: { continued }, decision });
  await runner.decide(waiting, decision);
  return turn.result;
}

/** Changes a call. The turn in flight notices the change; otherwise a turn continues. */
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
    turn.noteCallChange();
    return turn.result;
  }
  const isWaiting = toolCalls.some(isPending) && !toolCalls.some(({ state }) => state === "running");
  return isWaiting ? { messages: [changed], outcome: "tool-calls" } : continueTurn(chat, read, message.id);
}

function continueTurn(chat: Chat, read: ReadOptions, message: string): Promise<ChatTurn> {
  return beginTurn(chat, () => ({ below: message, added: [message] }), chat.options ?? read, { message });
}
