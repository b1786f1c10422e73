import { type ChatModel, type Client, ConfigurationError } from "@sluice/core";
import {
  createOptionsReader,
  createRandomId,
  createStore,
  noteMistake,
  noteOptions,
} from "@sluice/core/extend";
import { registerForget } from "../storage/forget.js";
import {
  addAll,
  type Chat,
  createSnapshot,
  dropQueued,
  forget,
  getOpenChats,
  leave,
  type ReadOptions,
  refresh,
  replaceAll,
  stop,
} from "./chat.js";
import type { ChatStore } from "./chat-store.js";
import { parseInitialMessages } from "./initial-messages.js";
import {
  addQuestion,
  assertContent,
  type FindInsertionPoint,
  findResponsesAround,
  findRetryPoint,
  findVersionPoint,
  type Question,
} from "./insertion-point.js";
import { optionalParts } from "./load-optional-parts.js";
import { type ChatMessage, type ChatTurn, createUnsentTurn, isPending } from "./message.js";
import type { ChatOptionsFor, ChatStoreOptions } from "./options.js";
import type { CallChoice, RunnerTurns } from "./runner.js";
import { noStorage, type StorageSession } from "./session.js";
import type { ThreadContext } from "./storage-session.js";
import type { ChatStorage } from "./storages.js";
import { createThread, createThreadList } from "./thread.js";
import { attempt, BUSY, beginRunnerTurn, beginTurn, canSendNext, sendNext, startIfFree } from "./turns.js";

/**
 * Creates the store of a chat. Nothing is sent before `send`.
 *
 * @param options the options, or a function that returns the current options at each use
 * @throws {ConfigurationError} for `storage` without `id`, and for a `storage` or a `runner` of another shape
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
  if (runner && typeof runner.openRunner !== "function")
    throw new ConfigurationError("runner: can't run turns: give customRunner() with your own");
  assertId(id);
  const initial = parseInitialMessages(initialMessages, "initialMessages");
  const thread = createThread((messageId, message) => storage.noteChange(messageId, message));
  const storage = records ? openSession(records) : noStorage;
  addAll(thread, initial);
  // until the storage is read, new messages follow the stored ones
  if (records) thread.origin = `/${createRandomId()}`;
  const state: Omit<Chat, "store"> = {
    client,
    id,
    thread,
    queue: [],
    queued: [],
    storage,
    own,
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
  chat.runner = runner && (runner.openRunner as (chat: Chat) => RunnerTurns)(chat);
  return chat;

  function openSession(from: ChatStorage): StorageSession {
    return (from.openChat as (context: ThreadContext) => StorageSession)({
      client,
      thread,
      storage: from,
      collection: `chat/${id}`,
      initial: initial.map((message) => message.id),
      flush: () => chat.store.flush(),
      onMerge: () => showMerged(chat),
      resume: (message) => resumeInterrupted(chat, message),
      forget: () => forget(chat),
    });
  }
}

/** Creates the methods of a chat, for a caller with its own options. */
function createVerbs(chat: Chat, read: ReadOptions): ChatStore {
  const { client, thread, storage, store } = chat;
  const startWhenReady = (find: FindInsertionPoint, message?: Question) =>
    use(chat).whenReady(() => attempt(() => startIfFree(chat, read, find, message)));
  const sendWhenReady = (message: Question) =>
    startWhenReady((signal) => addQuestion(thread, message, read().model, signal), message);
  /** Reports the error of a call that changed nothing, because no state shows it. A double click is not a mistake. */
  const noteRefusal = (turn: Promise<ChatTurn>) => {
    turn.then(
      ({ error }) => error?.message !== BUSY && noteMistake(error, client),
      () => {},
    );
    return turn;
  };
  const decide = (toolCallId: string, choice: CallChoice) =>
    use(chat).whenReady(() => {
      const { loaded } = optionalParts;
      if (loaded) return loaded.decideCall(chat, read, toolCallId, choice);
      return optionalParts
        .load()
        .then((code) => code.decideCall(chat, read, toolCallId, choice), createUnsentTurn);
    });
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
        attempt(() => {
          assertContent(content, images);
          return sendWhenReady({ content, images });
        }),
      );
    },
    stop() {
      const last = thread.path.at(-1);
      if (!chat.turn && last?.toolCalls?.some(isPending)) chat.runner?.stopWaiting(last.id, read);
      stop(chat);
    },
    retry: () => use(chat).whenReady(() => retry(chat, read)),
    cancelQueued(id) {
      dropQueued(chat, id);
      store.flush();
    },
    regenerate: (messageId) => noteRefusal(startWhenReady(() => findVersionPoint(thread, messageId))),
    edit: (messageId, content, { images } = {}) =>
      noteRefusal(sendWhenReady({ content, images, originalId: messageId })),
    getThread: chat.getThread,
    switchBranch(messageId) {
      thread.choose(messageId);
      storage.noteChange(messageId);
      refresh(chat);
    },
    approve: (toolCallId) => decide(toolCallId, { type: "approve" }),
    deny: (toolCallId, reason = "the user did not allow the call") =>
      decide(toolCallId, { type: "deny", reason }),
    addToolOutput: (toolCallId, output) => decide(toolCallId, { type: "output", output }),
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
  const last = thread.path.at(-1);
  const queued = hasFailed(last) ? undefined : sendNext(chat);
  if (queued) return queued;
  const find = () => findRetryPoint(thread, last && thread.get(last.id)?.message);
  const start = () => attempt(() => startIfFree(chat, read, find));
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
  const { thread, turn, runner, own } = chat;
  // another tab cleared the chat
  if (turn?.workedOn !== undefined && !thread.has(turn.workedOn)) turn.stop();
  refresh(chat);
  // the runner has begun this turn in another tab, on another device or before a reload
  const continued = thread.path.at(-1)?.id;
  if (!chat.turn && continued !== undefined && runner?.isContinuing(continued))
    void beginRunnerTurn(chat, runner, own, { at: { continued } });
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
  if (turn || thread.path.at(-1)?.id !== id) return undefined;
  return outcome === undefined
    ? beginTurn(chat, () => ({ below: thread.getParent(id), added: [id] }), own, interrupted)
    : beginTurn(chat, () => ({ below: id, added: [id] }), own);
}
