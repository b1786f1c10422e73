import { unlessAborted } from "../../base/clock.js";
import { isolate } from "../../base/isolate.js";
import { noteOptions } from "../../base/note-options.js";
import { reportStorageFailure } from "../../base/platform-limits.js";
import { randomId } from "../../base/random-id.js";
import { createStore, readerOf, type Store } from "../../base/store.js";
import type { Client } from "../../client.js";
import { onForget } from "../../storage/in-use.js";
import type { RecordStorage } from "../../storage/storage.js";
import { waitForStorage } from "../../storage/wait.js";
import { asError, ConfigurationError } from "../../vocabulary/errors.js";
import type { ImageInput } from "./attachments.js";
import { type InitialMessage, threadMessagesOf } from "./initial-messages.js";
import {
  addQuestion,
  addVersion,
  answersAround,
  assertContent,
  closeCalls,
  closePassedCalls,
  type FindPlace,
  placeOfRetry,
  placeOfVersion,
} from "./insertion-point.js";
import {
  isOpen,
  isPending,
  QUEUED,
  type ThreadMessage,
  type ThreadToolCall,
  type ThreadTurn,
  withOutput,
} from "./message.js";
import { createThread } from "./message-tree.js";
import type { ChatStoreOptions } from "./options.js";
import type { ThreadKeeper } from "./persistence.js";
import { createQueue, type QueuedMessage, type QueueEntry } from "./queue.js";
import { type ChatState, type ChatStatus, createPendingReader } from "./state.js";
import { createRun, type Run } from "./turn-runner.js";

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
  send(content: string, options?: SendOptions): Promise<ThreadTurn>;
  /**
   * Ends the turn in flight. The text so far stays, open tool calls are cancelled, and the queued messages of
   * this page are given back: their turns are `not-sent`. Queued messages of an earlier page stay in `queued`. A
   * turn that waits for the storage or another tab is `not-sent`.
   */
  stop(): void;
  /**
   * Sends the first message of `queued` now; the others follow as usual. Tool calls that still wait are cancelled.
   * While an answer is in flight, and with nothing to send, the turn is `not-sent`.
   */
  sendQueued(): Promise<ThreadTurn>;
  /** Drops one message of `queued`, by its index. Its turn is `not-sent`. */
  dequeue(index: number): void;
  /**
   * Repeats the request whose answer failed or was stopped; results of tools are kept. An answer that a proxy still
   * keeps is read to its end instead, and nothing is requested. After `step-limit` it continues, with `maxSteps`
   * more answers. With nothing to retry the turn is `not-sent`, and the chat stays as it is.
   */
  retry(): Promise<ThreadTurn>;
  /**
   * Requests another version of an answer, by default of the whole last turn. The old version stays as a
   * branch.
   */
  regenerate(messageId?: string): Promise<ThreadTurn>;
  /** Adds another version of a user's message and requests an answer. The old version stays as a branch. */
  edit(messageId: string, content: string, options?: SendOptions): Promise<ThreadTurn>;
  /** Returns the ids of all versions of a message, oldest first. */
  branches(messageId: string): readonly string[];
  /** Shows the branch that a message is on. */
  switchBranch(messageId: string): void;
  /** Allows a tool call to run. A second call changes nothing. */
  approve(toolCallId: string): Promise<ThreadTurn>;
  /** Refuses a tool call. The model gets `reason`. */
  deny(toolCallId: string, reason?: string): Promise<ThreadTurn>;
  /**
   * Adds the result of a tool call that waits for it. The order does not matter, and a second result changes
   * nothing. The chat continues when all results are there.
   */
  addToolResult(toolCallId: string, output: unknown): Promise<ThreadTurn>;
  /**
   * Stops the turn in flight and replaces the whole thread. Ids may be left out.
   *
   * @throws {ValidationError} for a message that cannot be read; it names the index and the field
   */
  setMessages(messages: readonly InitialMessage[]): void;
  /** Stops the turn in flight and removes all messages. */
  reset(): void;
  /** Stops the turn in flight and closes the storage until the chat is used again. */
  close(): void;
  /**
   * Returns the same chat with other options, for another component that shows it. Turns that `send`,
   * `retry`, `regenerate` and `edit` start use the options of the object that they were called on. `approve`,
   * `deny` and `addToolResult` continue a turn with the options that it began with. `id`, `initialMessages`,
   * `throttleMs` and `storage` stay those of the first chat.
   */
  withOptions(options: ChatStoreOptions<Output> | (() => ChatStoreOptions<Output>)): ChatStore<Output>;
}

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
export function createChatStore<Output = unknown>(
  client: Client,
  options: ChatStoreOptions<Output> | (() => ChatStoreOptions<Output>),
): ChatStore<Output> {
  const own = readerOf(options);
  noteOptions("createChatStore or useChatStream", options, client.warn);
  const { id, initialMessages = [], storage, throttleMs = 50 } = own();
  if (storage && id === undefined)
    throw new ConfigurationError("id: a chat with `storage` needs an `id` to be found again");

  let keeper: ThreadKeeper | undefined;
  const thread = createThread((messageId, message) => {
    keeper?.changed(messageId, message);
    // a queued message that is in the thread leaves the queue with the same write
    queue.prune();
  });
  const queue = createQueue<Read<Output>>(
    (messageId) => thread.node(messageId) !== undefined,
    (key) => keeper?.changed(key),
  );
  addAll(threadMessagesOf(initialMessages, "initialMessages"));
  const initial = thread.ids();
  // until the storage is read, new messages follow those that are read later
  if (storage) thread.origin = `/${randomId()}`;
  const pendingOf = createPendingReader();
  let isRestoring = storage !== undefined;
  let error: Error | undefined;
  let run: Run | undefined;
  // options of the last turn
  let lastOptions: Read<Output> | undefined;
  let shown: ThreadMessage | undefined;
  // message that the run works on
  let workedOn: string | undefined;
  let opening: Promise<void> | undefined;
  let session = new AbortController();
  let waiting = new AbortController();
  /** Ends what `client.forget()` reaches while the chat has an open storage. */
  let leaveStorage: (() => void) | undefined;
  const store = createStore(compute, {
    throttleMs,
    clock: client.clock,
    onUse: () => onForget(client, forget),
  });
  return withReader(own);

  function withReader(read: Read<Output>): ChatStore<Output> {
    return {
      getSnapshot: store.getSnapshot,
      subscribe(listener) {
        void whenRestored(() => {});
        return store.subscribe(listener);
      },
      send(content, { images = [] } = {}) {
        const place: FindPlace = (signal) =>
          addQuestion(thread, { content, images, below: lastMessage()?.id, model: read().model }, signal);
        // checked before it is queued, and before it stops an answer
        return unlessRefused(
          () => assertContent(content, images),
          () => whenFree(read, place, { content, images }),
        );
      },
      stop,
      sendQueued: () =>
        whenReady(() => {
          const [first] = queue.sendable(true);
          if (first && !run) return begin(first);
          return notSent(new ConfigurationError(run ? BUSY : "there is no queued message"));
        }),
      retry: () =>
        whenReady(() => {
          const last = lastMessage();
          const again = () => placeOfRetry(thread, last && thread.node(last.id)?.message);
          if (!last || run) return startIfFree(read, again);
          const known = answersAround(thread, last).length;
          return withLockOf(last.id, () =>
            answersAround(thread, last).length > known
              ? notSent(new ConfigurationError("another tab went on"))
              : startIfFree(read, again),
          );
        }),
      dequeue(index) {
        queue.drop(index, stopped());
        store.flush();
      },
      regenerate: (messageId) => whenFree(read, () => placeOfVersion(thread, messageId)),
      edit: (messageId, content, { images } = {}) =>
        whenFree(
          read,
          (signal) => addVersion(thread, messageId, { content, images, model: read().model }, signal),
          { content, images, versionOf: messageId },
        ),
      branches(messageId) {
        const message = thread.node(messageId)?.message;
        return message ? (message.branches ?? [messageId]) : [];
      },
      switchBranch(messageId) {
        thread.choose(messageId);
        keeper?.changed(messageId);
        refresh();
      },
      approve: (toolCallId) =>
        settleCall(read, toolCallId, "needs-approval", (call) => ({ ...call, state: "running" })),
      deny: (toolCallId, reason = "the user did not allow the call") =>
        settleCall(read, toolCallId, "needs-approval", (call) => ({
          ...call,
          state: "denied",
          error: reason,
        })),
      addToolResult: (toolCallId, output) =>
        settleCall(read, toolCallId, "needs-result", (call) => withOutput(call, output)),
      setMessages(messages) {
        const given = threadMessagesOf(messages, "messages");
        void whenRestored(() => replaceAll(given));
      },
      reset: () => whenRestored(() => replaceAll([])),
      close() {
        if (storage)
          queue.close(new DOMException("The chat was closed; its messages stay queued", "AbortError"));
        stop();
        closeStorage();
      },
      withOptions: (options) => withReader(readerOf(options)),
    };
  }

  function compute(): ChatState<Output> {
    const live = run?.phase.name === "answering" ? run.phase.answer.message : undefined;
    if (live && live !== shown) thread.put(live);
    shown = live;
    const messages = thread.path;
    const last = messages.findLast(({ role }) => role === "assistant");
    const pendingActions = pendingOf(messages.at(-1));
    return {
      messages,
      status: statusOf(pendingActions.length > 0),
      error,
      usage: last?.usage,
      timing: last?.timing,
      object: last?.object as ChatState<Output>["object"],
      pendingActions,
      queued: queue.texts,
      unsaved: keeper ? keeper.unsaved() : storage && !isRestoring ? thread.ids().length : 0,
      isRestoring,
    };
  }

  function statusOf(isWaiting: boolean): ChatStatus {
    if (run?.phase.name === "requesting") return "submitted";
    if (run?.phase.name === "answering") return run.phase.answer.isWaiting ? "submitted" : "streaming";
    if (run) return "streaming";
    if (isWaiting) return "requires-action";
    return error ? "error" : "ready";
  }

  function lastMessage(): ThreadMessage | undefined {
    return thread.path.at(-1);
  }

  /** Reads the storage, and waits for it at most 3 s. Records that are read later are merged then. */
  async function open(from: RecordStorage): Promise<void> {
    const { signal } = session;
    leaveStorage = onForget(client, forget);
    try {
      await waitForStorage(client.clock, () => load(from, signal));
    } catch (cause) {
      reportStorageFailure(client, cause);
    }
    isRestoring = false;
    store.flush();
  }

  async function load(from: RecordStorage, signal: AbortSignal): Promise<void> {
    keeper ??= await keepThread(from).catch((cause) => {
      // its code could not be loaded: the next call tries again
      closeStorage();
      throw cause;
    });
    if (!signal.aborted) await keeper.restore();
  }

  async function keepThread(from: RecordStorage): Promise<ThreadKeeper> {
    const { createKeeper } = await import("./persistence.js");
    return createKeeper({
      client,
      storage: from,
      collection: `chat/${id}`,
      thread,
      initial,
      queue,
      onLeave: store.flush,
      onMerge: merged,
      onUnsaved: store.flush,
      resume(message) {
        const parent = thread.parentOf(message.id);
        if (run || lastMessage()?.id !== message.id) return undefined;
        return start(() => ({ below: parent, added: [message.id] }), own, { left: message });
      },
    });
  }

  function merged(): void {
    queue.prune();
    // another tab cleared the chat
    if (workedOn !== undefined && !thread.node(workedOn)) run?.stop();
    refresh();
  }

  /** Shows a thread that another tab may have changed meanwhile. */
  function refresh(): void {
    closePassedCalls(thread);
    store.flush();
  }

  /** Acts in the same tick if possible, so that the next frame shows the effect of a click. */
  function whenRestored<T>(act: () => T | Promise<T>): Promise<T> {
    if (storage) opening ??= open(storage);
    return isRestoring && opening ? opening.then(act) : Promise.resolve(act());
  }

  /** Acts when the chat is restored, unless it is stopped before. */
  function whenReady(act: () => ThreadTurn | Promise<ThreadTurn>): Promise<ThreadTurn> {
    const { signal } = waiting;
    if (!isRestoring) return whenRestored(act);
    return unlessAborted(
      whenRestored(() => {}),
      signal,
    ).then(act, notSent);
  }

  /** Acts when no other tab works on a message. */
  function withLockOf(messageId: string, act: () => ThreadTurn | Promise<ThreadTurn>): Promise<ThreadTurn> {
    if (!keeper) return Promise.resolve(act());
    return keeper
      .withLockOf(messageId, waiting.signal, async () => act())
      .catch((cause) => notSent(asError(cause)));
  }

  function whenFree(read: Read<Output>, place: FindPlace, message?: QueuedMessage): Promise<ThreadTurn> {
    return whenReady(() => startIfFree(read, place, message));
  }

  /** Only new messages can be queued: the message that a version belongs to may be removed before. */
  function startIfFree(
    read: Read<Output>,
    place: FindPlace,
    message?: QueuedMessage,
  ): ThreadTurn | Promise<ThreadTurn> {
    return unlessRefused(read, async ({ whenBusy = "reject" }) => {
      if (run && whenBusy === "queue" && message) return enqueue(message, read);
      if (run && whenBusy === "replace") run.stop();
      return run ? notSent(new ConfigurationError(BUSY)) : start(place, read);
    });
  }

  function enqueue(message: QueuedMessage, read: Read<Output>): Promise<ThreadTurn> {
    const { id, turn } = queue.add(message, read);
    // other tabs show the message, and leave it to this one
    keeper?.hold(QUEUED + id, turn);
    store.flush();
    return turn;
  }

  /** Sends a queued message. A turn that has not begun stops none behind it. */
  function begin(entry: QueueEntry<Read<Output>>): Promise<ThreadTurn> {
    const { id, content, images = [], versionOf, options: read = own } = entry;
    entry.phase = "starting";
    const turn = start((signal) => {
      const { model } = read();
      return versionOf === undefined
        ? addQuestion(thread, { id, content, images, below: lastMessage()?.id, model }, signal)
        : addVersion(thread, versionOf, { id, content, images: entry.images, model }, signal);
    }, read);
    entry.settle(turn);
    void turn.then(({ outcome, messages }) => {
      queue.tried(entry);
      store.flush();
      if (outcome === "not-sent" && messages.length === 0) goOn();
    });
    return turn;
  }

  function goOn(): void {
    const [next] = run ? [] : queue.sendable(false);
    if (next) void begin(next);
  }

  function start(
    find: FindPlace,
    read: Read<Output>,
    { left, message = left?.id }: { left?: ThreadMessage; message?: string } = {},
  ): Promise<ThreadTurn> {
    const owner = new AbortController();
    // a branch that another tab adds meanwhile does not replace this one
    thread.choose(lastMessage()?.id);
    return unlessRefused(
      () => find(owner.signal),
      (place) => {
        error = undefined;
        lastOptions = read;
        const started = createRun({
          client,
          thread,
          options: read,
          owner,
          place,
          left,
          write: () => keeper?.written(),
          onDraft(draft) {
            workedOn = draft;
            keeper?.hold(draft, started.turn);
          },
          onDelta: store.changed,
          onChange: refresh,
          onEnd: (turn) => ended(turn, read),
        });
        workedOn = message;
        run = started;
        started.start();
        store.flush();
        return started.turn;
      },
    );
  }

  function ended(turn: ThreadTurn, read: Read<Output>): void {
    run = workedOn = undefined;
    error = turn.error;
    const isWaiting = lastMessage()?.toolCalls?.some(isPending);
    // a separate microtask, so that a callback can send the next message; a platform may have no queueMicrotask
    if (!isWaiting) void Promise.resolve().then(() => isolate(() => callBack(turn, read())));
    store.flush();
    if (isWhole(turn)) goOn();
  }

  function callBack(turn: ThreadTurn, { onError, onFinish }: ChatStoreOptions<Output>): void {
    const { error } = turn;
    if (error) isolate(() => onError?.(error, turn));
    onFinish?.(turn);
  }

  function stop(): void {
    queue.dropAll(stopped(), false);
    waiting.abort(stopped());
    waiting = new AbortController();
    if (run) run.stop();
    else closeCalls(thread, "the user stopped before the call had a result");
    store.flush();
  }

  function replaceAll(messages: readonly ThreadMessage[]): void {
    stop();
    queue.dropAll(stopped(), true);
    error = undefined;
    for (const known of thread.ids()) thread.remove(known);
    addAll(messages);
    store.flush();
  }

  function closeStorage(): void {
    session.abort();
    session = new AbortController();
    opening = undefined;
    leaveStorage?.();
    keeper?.close();
  }

  /** Removes all, and reads nothing until the storage has removed it, too. */
  function forget(): () => void {
    const isOpen = opening !== undefined;
    replaceAll([]);
    closeStorage();
    return () => {
      if (isOpen) void whenRestored(() => {});
    };
  }

  function addAll(messages: readonly ThreadMessage[]): void {
    messages.forEach((message, index) => {
      thread.add(message, messages[index - 1]?.id);
    });
  }

  function settleCall(
    read: Read<Output>,
    toolCallId: string,
    waitsFor: ThreadToolCall["state"],
    change: (call: ThreadToolCall) => ThreadToolCall,
  ): Promise<ThreadTurn> {
    return whenReady(() => {
      const waits = (call: ThreadToolCall) => call.id === toolCallId && call.state === waitsFor;
      const { id, toolCalls } = lastMessage() ?? {};
      return id !== undefined && toolCalls?.some(waits) && !run ? withLockOf(id, () => settle(id)) : settle();

      function settle(waited?: string): ThreadTurn | Promise<ThreadTurn> {
        const message = lastMessage();
        const calls = message?.toolCalls ?? [];
        const call = calls.find(waits);
        const continueTurn = (message: string) =>
          start(() => ({ below: message, added: [message] }), lastOptions ?? read, { message });
        if (!message || !call) {
          // another tab answered the call, and was closed before it continued
          if (message && message.id === waited && !run && !calls.some(isOpen)) return continueTurn(waited);
          return (
            run?.turn ?? notSent(new ConfigurationError(`toolCallId: no call "${toolCallId}" waits for this`))
          );
        }
        const changed = calls.map((each) => (each === call ? change(call) : each));
        thread.put({ ...message, toolCalls: changed });
        store.flush();
        if (run) {
          run.callChanged();
          return run.turn;
        }
        const isHeldUp = changed.some(isPending) && !changed.some(({ state }) => state === "running");
        return isHeldUp
          ? { messages: [{ ...message, toolCalls: changed }], outcome: "tool-calls" }
          : continueTurn(message.id);
      }
    });
  }
}

const BUSY = 'an answer is under way: wait for it, stop() it, or set `whenBusy` to "queue" or "replace"';

/** True for a turn whose answer the gateway ended: after any other end, queued messages wait for the user. */
function isWhole({ outcome }: ThreadTurn): boolean {
  return ["complete", "length", "content-filter"].includes(outcome);
}

/** Returns the options at the time of their use. */
type Read<Output> = () => ChatStoreOptions<Output>;

/** Continues with the result of `check`. If it throws, nothing is sent, and the chat does not change. */
function unlessRefused<T>(
  check: () => T,
  continueTurn: (checked: T) => Promise<ThreadTurn>,
): Promise<ThreadTurn> {
  let checked: T;
  try {
    checked = check();
  } catch (cause) {
    return Promise.resolve(notSent(asError(cause)));
  }
  return continueTurn(checked);
}

function stopped(): DOMException {
  return new DOMException("The chat was stopped before its turn", "AbortError");
}

function notSent(error: Error): ThreadTurn {
  return { messages: [], outcome: "not-sent", error };
}
