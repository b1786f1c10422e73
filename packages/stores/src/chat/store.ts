import { type ChatModel, type Client, ConfigurationError } from "@sluice/core";
import { createOptionsReader, createRandomId, createStore, noteOptions } from "@sluice/core/extend";
import { registerForget } from "../storage/forget.js";
import {
  addAll,
  type Chat,
  closeStorage,
  createSnapshot,
  dropQueued,
  forget,
  openStorage,
  type ReadOptions,
  refresh,
  replaceAll,
  stop,
  stopOnThisPage,
} from "./chat.js";
import type { ChatStore } from "./chat-store.js";
import { parseInitialMessages } from "./initial-messages.js";
import { findVersionPoint, type InsertionPoint } from "./insertion-point.js";
import { optionalParts } from "./load-optional-parts.js";
import { type ChatMessage, type ChatTurn, createUnsentTurn, isPending } from "./message.js";
import type { ChatOptionsFor, ChatStoreOptions } from "./options.js";
import type { CallChoice, RunnerTurns } from "./runner.js";
import { noStorage, type StorageSession, type ThreadContext } from "./session.js";
import type { ChatStorage } from "./storages.js";
import { createThread, createThreadList } from "./thread.js";
import { beginRunnerTurn, beginTurn, requestTurn, retry } from "./turns.js";

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
  const readOwnOptions = createOptionsReader(options as ChatStoreOptions | (() => ChatStoreOptions));
  return createMethods(createChat(client, readOwnOptions), readOwnOptions) as ChatStore<Output>;
}

function createChat(client: Client, readOwnOptions: ReadOptions): Chat {
  const { id, initialMessages = [], storage: chatStorage, throttleMs = 50, runner } = readOwnOptions();
  if (chatStorage && id === undefined)
    throw new ConfigurationError("id: a chat with `storage` needs an `id` to be found again");
  if (chatStorage && typeof chatStorage.openChat !== "function")
    throw new ConfigurationError(
      "storage: can't store chats: give indexedDBStorage(), or customStorage() with your own",
    );
  if (runner && typeof runner.openRunner !== "function")
    throw new ConfigurationError("runner: can't run turns: give customRunner() with your own");
  assertId(id);
  const initial = parseInitialMessages(initialMessages, "initialMessages");
  const thread = createThread((messageId, message) => storage.noteChange(messageId, message));
  const storage = chatStorage ? openSession(chatStorage) : noStorage;
  addAll(thread, initial);
  // an unknown parent: messages that are added before the storage is read follow the stored messages
  if (chatStorage) thread.defaultParent = `/${createRandomId()}`;
  const state: Omit<Chat, "store"> = {
    client,
    id,
    thread,
    queue: [],
    queued: [],
    storage,
    readOwnOptions,
    getThread: createThreadList(thread),
  };
  const chat: Chat = Object.assign(state, {
    store: createStore(() => createSnapshot(state), {
      throttleMs,
      clock: client.clock,
      client,
      onUse() {
        const unregister = registerForget(client, () => forget(chat));
        const unsubscribe = chatStorage?.status?.subscribe(() => chat.store.flush());
        return () => {
          unregister();
          unsubscribe?.();
        };
      },
    }),
  });
  chat.runner = runner && (runner.openRunner as (chat: Chat) => RunnerTurns)(chat);
  return chat;

  function openSession(chatStorage: ChatStorage): StorageSession {
    return (chatStorage.openChat as (context: ThreadContext) => StorageSession)({
      client,
      thread,
      storage: chatStorage,
      collection: `chat/${id}`,
      initialIds: initial.map((message) => message.id),
      flush: () => chat.store.flush(),
      onMerge: () => showMerged(chat),
      resume: (message) => resumeInterrupted(chat, message),
      forget: () => forget(chat),
    });
  }
}

/** Creates the methods of a chat for one caller and its options. */
function createMethods(chat: Chat, readOptions: ReadOptions): ChatStore {
  const { client, thread, storage, store } = chat;
  const decide = (toolCallId: string, choice: CallChoice) =>
    openStorage(chat).whenReady(() => {
      const { loaded } = optionalParts;
      const turns = { beginRunnerTurn, beginTurn };
      if (loaded) return loaded.decideCall(chat, readOptions, toolCallId, choice, turns);
      return optionalParts
        .load()
        .then((code) => code.decideCall(chat, readOptions, toolCallId, choice, turns), createUnsentTurn);
    });
  const methods: ChatStore = {
    getSnapshot: store.getSnapshot,
    subscribe(listener) {
      void openStorage(chat).whenRestored(() => {});
      return store.subscribe(listener);
    },
    send(content, options = {}) {
      noteOptions("a message", options, client);
      return requestTurn(chat, readOptions, { content, images: options.images ?? [] });
    },
    stop() {
      const last = thread.path.at(-1);
      if (!chat.turn && last?.toolCalls?.some(isPending)) chat.runner?.stopWaiting(last.id, readOptions);
      stop(chat);
    },
    retry: () => openStorage(chat).whenReady(() => retry(chat, readOptions)),
    cancelQueued(id) {
      dropQueued(chat, id);
      store.flush();
    },
    regenerate: (messageId) => requestTurn(chat, readOptions, () => findVersionPoint(thread, messageId)),
    edit: (messageId, content, { images } = {}) =>
      requestTurn(chat, readOptions, { content, images, originalId: messageId }),
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
      void openStorage(chat).whenRestored(() => replaceAll(chat, given));
    },
    reset: () => void openStorage(chat).whenRestored(() => replaceAll(chat, [])),
    close() {
      stopOnThisPage(chat);
      closeStorage(chat);
    },
    withOptions: (options) => createMethods(chat, createOptionsReader(options)),
  };
  chat.methods ??= methods;
  return methods;
}

/** Shows the changes of other tabs. */
function showMerged(chat: Chat): void {
  const { thread, turn, runner, readOwnOptions } = chat;
  // another tab cleared the chat
  if (turn?.currentMessageId !== undefined && !thread.has(turn.currentMessageId)) turn.stop();
  refresh(chat);
  // the runner has begun this turn in another tab, on another device or before a reload
  const continuedId = thread.path.at(-1)?.id;
  if (!chat.turn && continuedId !== undefined && runner?.isContinuing(continuedId))
    void beginRunnerTurn(chat, runner, readOwnOptions, { point: { continuedId } });
}

/** @throws {ConfigurationError} for an id that not every storage can have */
function assertId(id: string | undefined): void {
  if (id === undefined || (id !== "" && id.length <= 200 && !/[\0\p{Surrogate}]/u.test(id))) return;
  throw new ConfigurationError("id: must have 1 to 200 characters, without NUL and lone surrogates");
}

/** Continues a response or its tools after their tab was closed; undefined if that is not possible now. */
function resumeInterrupted(chat: Chat, interrupted: ChatMessage): Promise<ChatTurn> | undefined {
  const { thread, turn, readOwnOptions } = chat;
  const { id, outcome } = interrupted;
  if (turn || thread.path.at(-1)?.id !== id) return undefined;
  const point: InsertionPoint =
    outcome === undefined
      ? { parentId: thread.getParent(id), added: [id], interruptedId: id }
      : { parentId: id, added: [id] };
  return beginTurn(chat, () => point, readOwnOptions);
}
