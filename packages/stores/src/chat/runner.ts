import { type Client, ConfigurationError, type Outcome, type RecordStorage } from "@sluice/core";
import { hashToId, isolate, toError } from "@sluice/core/extend";
import type { Chat, ReadOptions, RunnerTurnStart, RunningTurn } from "./chat.js";
import { type ChatMessage, type ChatTurn, createUnsentTurn, isOpen, isPending } from "./message.js";
import type { MessageNode } from "./thread.js";

/** Runs the turns of a chat elsewhere: on a server, in a worker, in an agent. {@link customRunner} gives it to a chat. */
export interface TurnRunner {
  /**
   * Runs a turn, or continues it if the runner knows its id. After a reload, and in other tabs, the chat calls it again
   * with the same id. Resolves when the turn has ended, or waits for the user or the app: the chat then shows the calls
   * of the last message.
   *
   * @throws an error if no request was sent. Its turn is `not-sent`, or `error` if it has messages
   */
  run(turn: RunnerTurn, context: RunnerContext): Promise<RunnerEnd>;
  /** Ends a turn. The chat already shows the turn as ended, and ignores errors. */
  stop?(turn: RunnerTurn): Promise<void> | void;
  /**
   * Passes the user's decision on a call of a waiting turn. The chat then calls `run` again. The first decision of all
   * devices counts.
   *
   * @throws an error if the decision did not arrive. The call then waits again
   */
  decide?(turn: RunnerTurn, decision: CallDecision): Promise<void>;
}

/** Value of the option `runner` of a chat: {@link customRunner} with your own {@link TurnRunner}. */
export interface ChatRunner {
  /** Opens the runner for a chat. It brings the code, so that a page without a runner does not contain it. */
  readonly openRunner: (chat: never) => unknown;
}

/** A turn of a {@link TurnRunner}. */
export interface RunnerTurn {
  /** Id of the turn: the same in all tabs and devices, and after a reload. */
  readonly id: string;
  readonly client: Client;
  /** Id of the chat. */
  readonly chatId: string | undefined;
  /** Storage of the chat. It has the question when `run` is called, unless it fails. */
  readonly storage: RecordStorage | undefined;
  /** Id of the user's message that the turn follows. */
  readonly question: string;
  /** Messages up to the question. */
  readonly messages: readonly ChatMessage[];
  readonly model: string;
  /** Parameters of the requests to the model. */
  readonly params: Readonly<Record<string, unknown>>;
}

/** Context of a turn of a {@link TurnRunner} while it runs. */
interface RunnerContext {
  /** Aborts when the user stops the turn or the chat is closed. */
  readonly signal: AbortSignal;
  /**
   * Adds a message of the turn, or replaces the message with its id, by default below the turn's last message. A message
   * without `outcome` is in flight. Not needed if the messages come through the storage, with the id of the turn as
   * `turn` of their records.
   */
  put(message: ChatMessage, parentId?: string): void;
}

/** End of a turn of a {@link TurnRunner}. */
export interface RunnerEnd {
  /** Outcome of the turn. @default the outcome of its last message */
  readonly outcome?: Outcome | undefined;
  /** Error of the turn. @default the error of its last message */
  readonly error?: Error | undefined;
}

/** Decision on a tool call that waits for the user or the app. */
export type CallDecision = { readonly messageId: string; readonly toolCallId: string } & CallChoice;

/** A decision on any call. */
export type CallChoice =
  | { readonly type: "approve" }
  | { readonly type: "deny"; readonly reason: string }
  | { readonly type: "output"; readonly output: unknown };

/**
 * Lets a chat run its turns by a runner of your own. The chat adds the question, shows the messages of the turn, and
 * reports its end; its queue, branches and `retry` work as with turns of the page.
 *
 * @example
 * ```ts
 * const echo = customRunner({
 *   async run({ id, messages }, { put }) {
 *     put({ id: `${id}-1`, role: "assistant", content: messages.at(-1)?.content ?? "", outcome: "complete" });
 *     return {};
 *   },
 * });
 * const chat = createChatStore(client, { model: "delta-5.3", runner: echo });
 * ```
 */
export function customRunner(runner: TurnRunner): ChatRunner {
  return {
    openRunner: (chat: Chat) => createRunnerTurns({ chat, runner, ended: new Set(), attempts: new Map() }),
  };
}

/** A chat with its runner. */
interface RunnerChat {
  readonly chat: Chat;
  readonly runner: TurnRunner;
  /** Ids of the turns that have ended for this page. */
  readonly ended: Set<string>;
  /** Number of turns of a question that have ended without a message. */
  readonly attempts: Map<string, number>;
}

/** The turns of a chat's runner. */
export type RunnerTurns = ReturnType<typeof createRunnerTurns>;

function createRunnerTurns(runnerChat: RunnerChat) {
  const { chat, runner, ended } = runnerChat;
  return {
    /** Begins a turn, or attaches to one in flight. */
    start: (readOptions: ReadOptions, start: RunnerTurnStart): RunningTurn =>
      startRunnerTurn(runnerChat, readOptions, start),
    /** Returns true for a message whose turn continues without the user. */
    isContinuing: (messageId: string): boolean => isContinuing(runnerChat, chat.thread.get(messageId)),
    /** Returns true for a turn that has ended for this page. */
    hasEnded: (turn: string): boolean => ended.has(turn),
    /** Passes a decision to the turn in flight. Without one, `begin` continues the turn of the message. */
    async decide(
      readOptions: ReadOptions,
      decision: CallDecision,
      begin: (start: Omit<RunnerTurnStart, "onEnd">) => Promise<ChatTurn>,
    ): Promise<ChatTurn> {
      const { messageId } = decision;
      const waiting = findRunnerTurn(chat, messageId, readOptions);
      if (!runner.decide || !waiting)
        return createUnsentTurn(new ConfigurationError("runner: it can't pass a decision about this call"));
      const { turn } = chat;
      if (!turn) return begin({ point: { continuedId: messageId }, decision });
      await runner.decide(waiting, decision);
      return turn.result;
    },
    /** Ends the turn of a message that waits for the user, if a runner has written it. */
    stopWaiting(messageId: string, readOptions: ReadOptions): void {
      const turn = findRunnerTurn(chat, messageId, readOptions);
      if (turn) stopRunnerTurn(runnerChat, turn);
    },
  };
}

/** Begins a turn of the chat's runner, or attaches to one in flight. */
function startRunnerTurn(
  runnerChat: RunnerChat,
  readOptions: ReadOptions,
  { point: pendingPoint, decision, onEnd }: RunnerTurnStart,
): RunningTurn {
  const { chat, runner, attempts } = runnerChat;
  const { thread, store, storage } = chat;
  const controller = new AbortController();
  const added: string[] = [];
  let turn: RunnerTurn | undefined;
  let hasEnded = false;
  let resolve!: (turn: ChatTurn) => void;
  const result = new Promise<ChatTurn>((resolveResult) => {
    resolve = resolveResult;
  });
  run().then(end, (cause) => end({ error: toError(cause) }, true));
  return {
    result,
    currentMessageId: undefined,
    get status() {
      const last = thread.path.at(-1);
      return last && turn && thread.get(last.id)?.turn === turn.id && last.content
        ? "streaming"
        : "submitted";
    },
    showNewText: () => {},
    noteCallChange: () => {},
    stop() {
      if (turn) stopRunnerTurn(runnerChat, turn);
      endEarly("The user stopped the response", { outcome: "stopped" });
    },
    close: () =>
      endEarly("The chat was closed; its runner continues", {
        outcome: "truncated",
        error: new DOMException("The chat was closed; its runner continues", "AbortError"),
      }),
  };

  async function run(): Promise<RunnerEnd> {
    const point = await pendingPoint;
    if (hasEnded) return {};
    if ("continuedId" in point) turn = findRunnerTurn(chat, point.continuedId, readOptions);
    else {
      added.push(...point.added);
      const waiting = findWaitingTurn(runnerChat, point.parentId, readOptions);
      turn = createRunnerTurn(runnerChat, point.parentId, readOptions);
      if (waiting) await runner.stop?.(waiting);
    }
    if (!turn) throw new Error("the turn has no question");
    runnerChat.ended.delete(turn.id);
    store.flush();
    await storage.writeAll();
    if (hasEnded) return {};
    if (decision) await runner.decide?.(turn, decision);
    return runner.run(turn, { signal: controller.signal, put });
  }

  function put(message: ChatMessage, parentId?: string): void {
    if (hasEnded || !turn) return;
    const { id } = turn;
    if (thread.has(message.id)) thread.put(message);
    else
      thread.add(message, parentId ?? listTurnMessages(chat, id).at(-1)?.id ?? turn.question, undefined, id);
    store.changed();
  }

  function endEarly(reason: string, ended: RunnerEnd): void {
    if (hasEnded) return;
    end(ended);
    controller.abort(new DOMException(reason, "AbortError"));
  }

  function end({ outcome, error }: RunnerEnd, isRejected = false): void {
    if (hasEnded) return;
    hasEnded = true;
    const responses = turn ? listTurnMessages(chat, turn.id) : [];
    if (turn) {
      const mayContinue = isRejected || outcome === "truncated";
      if (!mayContinue) runnerChat.ended.add(turn.id);
      // a new turn needs another id, because the runner would continue this one
      if (!mayContinue && responses.length === 0)
        attempts.set(turn.question, (attempts.get(turn.question) ?? 0) + 1);
    }
    const last = responses.at(-1);
    const failure = error ?? last?.error;
    const messages = [...added.flatMap((id) => thread.get(id)?.message ?? []), ...responses];
    const ended: ChatTurn = {
      messages,
      outcome: outcome ?? (isRejected ? (last ? "error" : "not-sent") : (last?.outcome ?? "not-sent")),
      ...(failure && { error: failure }),
    };
    try {
      onEnd(ended);
    } finally {
      resolve(ended);
    }
  }
}

/** Tells the runner to end a turn. Errors change nothing, because the turn has ended here. */
function stopRunnerTurn({ runner, ended }: RunnerChat, turn: RunnerTurn): void {
  ended.add(turn.id);
  isolate(() => void Promise.resolve(runner.stop?.(turn)).catch(() => {}));
}

/** Returns the turn of a runner that has written the message; undefined for a message of a page. */
function findRunnerTurn(chat: Chat, messageId: string, readOptions: ReadOptions): RunnerTurn | undefined {
  const id = chat.thread.get(messageId)?.turn;
  return id === undefined ? undefined : describeTurn(chat, id, messageId, readOptions);
}

/** Returns true for a message of a runner whose turn continues without the user, and has not ended for this page. */
function isContinuing({ ended }: RunnerChat, node: MessageNode | undefined): boolean {
  if (!node || node.turn === undefined || ended.has(node.turn)) return false;
  const { role, outcome, error, toolCalls = [] } = node.message;
  if (role !== "assistant") return false;
  if (outcome === undefined || toolCalls.some((call) => isOpen(call) && !isPending(call))) return true;
  return outcome === "tool-calls" && !error && !toolCalls.some(isPending);
}

/** Finds the turn before a new question, if that turn still waits for the user. */
function findWaitingTurn(
  { chat, ended }: RunnerChat,
  questionId: string | undefined,
  readOptions: ReadOptions,
): RunnerTurn | undefined {
  const previousId = questionId === undefined ? undefined : chat.thread.getParent(questionId);
  const node = chat.thread.get(previousId);
  if (previousId === undefined || node?.turn === undefined || ended.has(node.turn)) return undefined;
  return node.message.outcome === "tool-calls" ? findRunnerTurn(chat, previousId, readOptions) : undefined;
}

/** Creates the turn below the last question at a point of the thread. */
function createRunnerTurn(
  { chat, attempts }: RunnerChat,
  parentId: string | undefined,
  readOptions: ReadOptions,
): RunnerTurn | undefined {
  const { thread } = chat;
  const question = thread.getPath(parentId).findLast(({ role }) => role === "user")?.id;
  if (question === undefined) return undefined;
  const responses = thread.listIds().filter((id) => thread.getParent(id) === question).length;
  const attempt = attempts.get(question) ?? 0;
  const id = hashToId(`${question} ${responses} ${attempt}`);
  return describeTurn(chat, id, question, readOptions);
}

function describeTurn(
  chat: Chat,
  id: string,
  messageId: string,
  readOptions: ReadOptions,
): RunnerTurn | undefined {
  const { client, id: chatId, thread, readOwnOptions } = chat;
  const path = thread.getPath(messageId);
  const questionIndex = path.findLastIndex(({ role }) => role === "user");
  const question = path[questionIndex]?.id;
  if (question === undefined) return undefined;
  const { model, params = {} } = readOptions();
  const messages = path.slice(0, questionIndex + 1);
  const { storage } = readOwnOptions();
  return { id, client, chatId, storage, question, messages, model, params: { ...params } };
}

function listTurnMessages({ thread }: Chat, turn: string): readonly ChatMessage[] {
  const nodes = thread.listIds().flatMap((id) => thread.get(id) ?? []);
  const last = nodes.findLast((node) => node.turn === turn);
  return thread.getPath(last?.message.id).filter(({ id }) => thread.get(id)?.turn === turn);
}
