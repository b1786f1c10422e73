import { unlessAborted } from "../../base/clock.js";
import { isolate } from "../../base/isolate.js";
import { reportStorageFailure } from "../../base/platform-limits.js";
import { randomId } from "../../base/random-id.js";
import { createStore, readerOf, type Store } from "../../base/store.js";
import type { Client } from "../../client.js";
import { asError, ConfigurationError } from "../../errors.js";
import type { RecordStorage } from "../../storage/storage.js";
import { waitForStorage } from "../../storage/wait.js";
import type { ImageInput } from "./attachments.js";
import { type InitialMessage, threadMessagesOf } from "./initial-messages.js";
import {
  addQuestion,
  addVersion,
  answersBeside,
  assertContent,
  closeCalls,
  type FindPlace,
  placeOfRetry,
  placeOfVersion,
} from "./insertion-point.js";
import { isOpen, isPending, type ThreadMessage, type ThreadToolCall, type ThreadTurn } from "./message.js";
import { createThread } from "./message-tree.js";
import type { ChatStoreOptions } from "./options.js";
import type { ThreadKeeper } from "./persistence.js";
import { type ChatState, type ChatStatus, createPendingReader } from "./state.js";
import { withOutput } from "./tools.js";
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
   * Ends the turn in flight. The text so far stays, open tool calls are cancelled, and queued messages are
   * dropped. A turn that waits for the storage or another tab is `not-sent`.
   */
  stop(): void;
  /** Drops one message of `queued`, by its index. Its turn is `not-sent`. */
  dequeue(index: number): void;
  /**
   * Repeats the request whose answer failed or was stopped; results of tools are kept. With nothing to retry
   * the turn is `not-sent`, and the chat stays as it is.
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
  const { id, initialMessages = [], storage, throttleMs = 50 } = own();
  if (storage && id === undefined)
    throw new ConfigurationError("id: a chat with `storage` needs an `id` to be found again");

  let keeper: ThreadKeeper | undefined;
  const thread = createThread((messageId, message) => keeper?.changed(messageId, message));
  addAll(threadMessagesOf(initialMessages, "initialMessages"));
  const initial = thread.ids();
  // until the storage is read, new messages follow those that are read later
  if (storage) thread.origin = `/${randomId()}`;
  const pendingOf = createPendingReader();
  let isRestoring = storage !== undefined;
  let queue: readonly { content: string; start: () => void; drop: () => void }[] = [];
  let queued: readonly string[] = [];
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
  const store = createStore(compute, { throttleMs, clock: client.clock });
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
          () => whenFree(read, place, content),
        );
      },
      stop,
      retry: () =>
        whenReady(() => {
          const last = lastMessage();
          const again = () => placeOfRetry(thread, last && thread.node(last.id)?.message);
          if (!last || run) return startIfFree(read, again);
          const known = answersBeside(thread, last);
          return withLockOf(last.id, () =>
            answersBeside(thread, last) > known
              ? notSent(new ConfigurationError("another tab has retried this answer already"))
              : startIfFree(read, again),
          );
        }),
      dequeue(index) {
        queue[index]?.drop();
        setQueue(queue.filter((_, place) => place !== index));
        store.flush();
      },
      regenerate: (messageId) => whenFree(read, () => placeOfVersion(thread, messageId)),
      edit: (messageId, content, { images } = {}) =>
        whenFree(
          read,
          (signal) => addVersion(thread, messageId, { content, images, model: read().model }, signal),
          content,
        ),
      branches(messageId) {
        const message = thread.node(messageId)?.message;
        return message ? (message.branches ?? [messageId]) : [];
      },
      switchBranch(messageId) {
        thread.choose(messageId);
        keeper?.changed(messageId);
        store.flush();
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
        stop();
        session.abort();
        session = new AbortController();
        opening = undefined;
        keeper?.close();
      },
      withOptions: (options) => withReader(readerOf(options)),
    };
  }

  function compute(): ChatState<Output> {
    const live = run?.answer?.message;
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
      queued,
      isRestoring,
    };
  }

  function statusOf(isWaiting: boolean): ChatStatus {
    if (run?.runsTools) return "streaming";
    if (run) return !run.answer || run.answer.isWaiting ? "submitted" : "streaming";
    if (isWaiting) return "requires-action";
    return error ? "error" : "ready";
  }

  function lastMessage(): ThreadMessage | undefined {
    return thread.path.at(-1);
  }

  /** Reads the storage, and waits for it at most 3 s. Records that are read later are merged then. */
  async function open(from: RecordStorage): Promise<void> {
    const { signal } = session;
    try {
      await waitForStorage(client.clock, () => load(from, signal));
    } catch (cause) {
      reportStorageFailure(client, cause);
    }
    isRestoring = false;
    store.flush();
  }

  async function load(from: RecordStorage, signal: AbortSignal): Promise<void> {
    keeper ??= await keepThread(from);
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
      onLeave: store.flush,
      onMerge: merged,
      resume(message) {
        const parent = thread.parentOf(message.id);
        if (run || lastMessage()?.id !== message.id) return undefined;
        return start(() => ({ below: parent, added: [message.id] }), own, { left: message });
      },
    });
  }

  function merged(): void {
    // another tab cleared the chat
    if (workedOn !== undefined && !thread.node(workedOn)) run?.stop();
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

  function whenFree(read: Read<Output>, place: FindPlace, content?: string): Promise<ThreadTurn> {
    return whenReady(() => startIfFree(read, place, content));
  }

  /** Only new messages can be queued: the message that a version belongs to may be removed before. */
  function startIfFree(
    read: Read<Output>,
    place: FindPlace,
    content?: string,
  ): ThreadTurn | Promise<ThreadTurn> {
    return unlessRefused(read, async ({ whenBusy = "reject" }) => {
      if (run && whenBusy === "queue" && content !== undefined) return enqueue(content, place, read);
      if (run && whenBusy === "replace") run.stop();
      return run ? notSent(new ConfigurationError(BUSY)) : start(place, read);
    });
  }

  function enqueue(content: string, place: FindPlace, read: Read<Output>): Promise<ThreadTurn> {
    return new Promise((resolve) => {
      const drop = () => resolve(notSent(stopped()));
      setQueue([...queue, { content, start: () => resolve(start(place, read)), drop }]);
      store.flush();
    });
  }

  function setQueue(next: typeof queue): void {
    queue = next;
    queued = next.map(({ content }) => content);
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
          onDraft(draft) {
            workedOn = draft;
            keeper?.hold(draft, started.turn);
          },
          onDelta: store.changed,
          onChange: store.flush,
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
    // a separate microtask, so that a callback can send the next message
    if (!isWaiting) queueMicrotask(() => callBack(turn, read()));
    do {
      const [next, ...rest] = queue;
      setQueue(rest);
      store.flush();
      next?.start();
      // a turn without an insertion point has not begun
    } while (!run && queue.length > 0);
  }

  function callBack(turn: ThreadTurn, { onError, onFinish }: ChatStoreOptions<Output>): void {
    const { error } = turn;
    if (error) isolate(() => onError?.(error, turn));
    onFinish?.(turn);
  }

  function stop(): void {
    const dropped = queue;
    setQueue([]);
    waiting.abort(stopped());
    waiting = new AbortController();
    if (run) run.stop();
    else closeCalls(thread, "the user stopped before the call had a result");
    for (const { drop } of dropped) drop();
    store.flush();
  }

  function replaceAll(messages: readonly ThreadMessage[]): void {
    stop();
    error = undefined;
    for (const known of thread.ids()) thread.remove(known);
    addAll(messages);
    store.flush();
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
