import { type CallInfo, type ChatRequest, type Client, isGatewayError } from "@sluice/core";
import { awaitWithin, createRandomId, getDelivery, toError } from "@sluice/core/extend";
import { pickRequestOptions } from "../base/request-options.js";
import { type Chat, type ReadOptions, type RunningTurn, refresh } from "./chat.js";
import type { FindInsertionPoint, InsertionPoint } from "./insertion-point.js";
import { optionalParts } from "./load-optional-parts.js";
import { reduceTurn, type TurnEvent, type TurnState } from "./machine.js";
import {
  type ChatMessage,
  type ChatTurn,
  closeToolCalls,
  isLost,
  isOpen,
  isPending,
  toDraft,
} from "./message.js";
import { createRequest } from "./request.js";
import { createResponse, type Response } from "./response.js";
import type { Thread } from "./thread.js";
import type { ToolCalls } from "./tool-calls.js";

const MAX_STEPS = 8;
/** Maximum time that a request waits for the write of its draft, in milliseconds. */
const WRITE_MS = 500;

interface TurnStart {
  readonly readOptions: ReadOptions;
  readonly onEnd: (turn: ChatTurn) => void;
}

/** A turn in flight. While it runs, no other code of this page writes responses into the thread. */
interface Turn extends TurnStart {
  readonly chat: Chat;
  /** Aborts when the turn ends. After that, the turn writes nothing into the thread. */
  readonly controller: AbortController;
  readonly result: Promise<ChatTurn>;
  readonly resolve: (turn: ChatTurn) => void;
  state: TurnState;
  /** Ids of the messages that the turn has added, in order. */
  readonly added: string[];
  point?: InsertionPoint;
  /** Request of the next response; undefined for a response that the proxy stores. */
  request?: ChatRequest | undefined;
  /** The response in flight. */
  response?: Response | undefined;
  /** Message of that response, as last put into the thread. */
  shown?: ChatMessage | undefined;
  /** Undefined before the code for tool calls is loaded. */
  calls?: ToolCalls;
}

/**
 * Starts a turn at a point of the thread. Without images the request is sent in the same task.
 *
 * @throws the error of `find`
 */
export function startTurn(chat: Chat, start: TurnStart, find: FindInsertionPoint): Promise<ChatTurn> {
  const controller = new AbortController();
  const found = find(controller.signal);
  let resolve!: Turn["resolve"];
  const result = new Promise<ChatTurn>((resolveTurn) => {
    resolve = resolveTurn;
  });
  const turn: Turn = { ...start, chat, controller, result, resolve, state: { name: "preparing" }, added: [] };
  const fail = (error: unknown) => dispatch(turn, { type: "failed", error });
  Object.assign(chat, { turn: toRunningTurn(turn), error: undefined, readTurnOptions: start.readOptions });
  if (found instanceof Promise) found.then((point) => handlePrepared(turn, point), fail);
  else handlePrepared(turn, found);
  chat.store.flush();
  return result;
}

/** Returns the turn as the chat sees it. */
function toRunningTurn(turn: Turn): RunningTurn {
  const stop = () => dispatch(turn, { type: "stopped" });
  return {
    result: turn.result,
    get currentMessageId() {
      const { state } = turn;
      return "parentId" in state ? state.parentId : "id" in state ? state.id : undefined;
    },
    get status() {
      const { state, response } = turn;
      if (state.name === "calling") return "streaming";
      return state.name === "responding" && !response?.isWaiting ? "streaming" : "submitted";
    },
    showNewText() {
      const { response } = turn;
      if (!response || response.message === turn.shown) return;
      turn.shown = response.message;
      turn.chat.thread.put(response.message);
    },
    stop,
    close: stop,
    noteCallChange() {
      if (turn.state.name === "calling") turn.calls?.noteChange();
    },
  };
}

/** Changes the state by an event, and runs the action of the new state. */
function dispatch(turn: Turn, event: TurnEvent): void {
  const state = reduceTurn(turn.state, event);
  if (state === turn.state) return;
  turn.state = state;
  void enterState(turn, state)?.catch((error) => dispatch(turn, { type: "failed", error }));
}

function enterState(turn: Turn, state: TurnState): Promise<void> | undefined {
  switch (state.name) {
    case "requesting":
      return prepareRequest(turn, state.parentId, state.step === 1);
    case "responding":
      return readResponse(turn, state.id);
    case "calling":
      return callTools(turn, state.id);
    case "ended":
      if (state.reason === "failure") endFailed(turn, state.error);
      else if (state.reason === "stop") endStopped(turn);
      else {
        if (state.reason === "limit") turn.calls?.endAtLimit(state.id, state.step);
        endTurn(turn);
      }
  }
  return undefined;
}

function handlePrepared(turn: Turn, point: InsertionPoint): void {
  if (hasEnded(turn)) return;
  const { parentId, added, storedResponse, interruptedId } = point;
  turn.point = point;
  turn.added.push(...added);
  if (storedResponse) turn.added.push(storedResponse.id);
  dispatch(turn, {
    type: "prepared",
    parentId,
    hasOpenCalls: hasOpenCalls(turn, parentId),
    storedId: interruptedId ?? storedResponse?.id,
  });
}

/** Creates the next request and adds the draft of its response. */
async function prepareRequest(turn: Turn, parentId: string | undefined, isFirst: boolean): Promise<void> {
  const { client, thread, storage } = turn.chat;
  const { signal } = turn.controller;
  const options = turn.readOptions();
  const creating = createRequest(client, options, thread.getPath(parentId));
  const created = creating instanceof Promise ? await creating : creating;
  const request = options.prepareMessages
    ? await (await optionalParts.load()).applyPrepareMessages(client, created, options, signal)
    : created;
  if (hasEnded(turn)) return;
  const retriedKey = isFirst ? turn.point?.idempotencyKey : undefined;
  const draft: ChatMessage = {
    id: createRandomId(),
    role: "assistant",
    content: "",
    model: request.model,
    createdAt: Date.now(),
    ...(client.idempotencyKeys && { idempotencyKey: retriedKey ?? storage.deriveKey(parentId, request) }),
  };
  storage.holdLock(draft.id, turn.result);
  thread.add(draft, parentId, draft.idempotencyKey);
  turn.added.push(draft.id);
  turn.request = request;
  dispatch(turn, { type: "requested", id: draft.id });
}

/** Reads a response to its end. Without a request, the proxy stores the response. */
async function readResponse(turn: Turn, id: string): Promise<void> {
  const { request, point, chat } = turn;
  const { thread, storage } = chat;
  const options = turn.readOptions();
  const { outputSchema: schema, tools = [], maxSteps = MAX_STEPS } = options;
  const message = thread.get(id)?.message as ChatMessage;
  // loaded early; if that fails, a response with calls tries again and reports the error
  if (tools.length > 0) optionalParts.load().catch(() => {});
  const names = { chatId: chat.id, messageId: id };
  const client = addCallNames(request ? delayUntilWritten(chat) : chat.client, names);
  const response = createResponse(client, toDraft(message), request, {
    ...pickRequestOptions(options),
    schema,
  });
  turn.response = response;
  refresh(chat);
  const ended = await response.read(chat.store.changed);
  if (hasEnded(turn)) return;
  const { error } = ended;
  if (request && isGatewayError(error) && getDelivery(error) === "not-sent") {
    storage.forgetKey(ended.idempotencyKey);
    throw error;
  }
  let admitted = ended;
  try {
    if (ended.outcome === "tool-calls" && ended.toolCalls)
      admitted = await (await loadCalls(turn)).admit(ended);
  } finally {
    // the response stays even if the code for calls could not be loaded
    if (!hasEnded(turn)) {
      thread.put(admitted);
      turn.response = undefined;
    }
  }
  if (hasEnded(turn)) return;
  turn.request = undefined;
  if (point?.storedResponse?.id === id && isLost(admitted)) {
    turn.added.pop();
    return dispatch(turn, { type: "lost", parentId: point.parentId });
  }
  const callsTools = admitted.outcome === "tool-calls" && !!admitted.toolCalls?.length;
  if (callsTools) refresh(chat);
  dispatch(turn, { type: "responded", callsTools, maxSteps });
}

/** Runs the calls of a response until no further call may run. */
async function callTools(turn: Turn, id: string): Promise<void> {
  // without an open call, the next request is sent in the same task
  if (hasOpenCalls(turn, id)) {
    const calls = await loadCalls(turn);
    if (hasEnded(turn)) return;
    await calls.runAll(id);
  }
  const isOver = hasOpenCalls(turn, id) || isOvertaken(turn.chat.thread, id);
  dispatch(turn, { type: "calls-ended", isOver });
}

/** Returns true if another tab sent a message below a response with calls. This turn then requests nothing more. */
function isOvertaken(thread: Thread, id: string): boolean {
  if (!thread.get(id)?.message.toolCalls?.length) return false;
  return thread
    .listIds()
    .some((child) => thread.getParent(child) === id && thread.get(child)?.message.role === "user");
}

/** Loads the code that checks and runs tool calls. */
async function loadCalls(turn: Turn): Promise<ToolCalls> {
  const { createToolCalls } = await optionalParts.load();
  turn.calls ??= createToolCalls(turn.chat, turn.readOptions, turn.controller.signal);
  return turn.calls;
}

function endStopped(turn: Turn): void {
  const { response, added, chat } = turn;
  const { thread } = chat;
  if (response) thread.put(response.stop());
  const last = thread.get(added.at(-1))?.message;
  if (last) thread.put(closeToolCalls(last, "the user stopped the response before the call had a result"));
  endTurn(turn, { outcome: "stopped" });
}

/** Ends a turn whose next request was not sent. The last response stores the error for reloads and other tabs. */
function endFailed(turn: Turn, cause: unknown): void {
  const { thread } = turn.chat;
  // removed in the tick that ends the turn, because `showMerged` stops a turn whose draft is missing
  const draft = listMessages(turn).at(-1);
  if (draft?.role === "assistant" && !draft.outcome && draft.id !== turn.point?.interruptedId)
    thread.remove(draft.id);
  const last = listMessages(turn).at(-1);
  if (last?.role !== "assistant") return endTurn(turn, { outcome: "not-sent", error: toError(cause) });
  const error = toTurnError(toError(cause));
  const isRunning = (call: Parameters<typeof isOpen>[0]) => isOpen(call) && !isPending(call);
  const message = closeToolCalls(last, "the chat could not continue", isRunning);
  thread.put({ ...message, outcome: last.outcome ?? "error", error });
  endTurn(turn, { outcome: "error", error });
}

/** Ends a turn, by default with the outcome of its last response. */
function endTurn(turn: Turn, end: Partial<Pick<ChatTurn, "outcome" | "error">> = {}): void {
  turn.response = undefined;
  turn.controller.abort(new DOMException("The response was stopped", "AbortError"));
  const messages = listMessages(turn);
  const error = end.error ?? findError(messages);
  const outcome = end.outcome ?? messages.at(-1)?.outcome ?? "not-sent";
  const ended: ChatTurn = { messages, outcome, ...(error && { error }) };
  try {
    turn.onEnd(ended);
  } finally {
    turn.resolve(ended);
  }
}

/** Finds the error of a turn in its last message. */
function findError(messages: readonly ChatMessage[]): Error | undefined {
  const error = messages.at(-1)?.error;
  return error && messages.at(-2)?.role === "assistant" ? toTurnError(error) : error;
}

/**
 * Creates the error of a turn whose request failed after a response. The failed request may be free, but the turn is not.
 * The copy has the class and fields of the error, and the error itself as its `cause`.
 */
function toTurnError(error: Error): Error {
  const isOwn = isGatewayError(error);
  if (isOwn && error.billing === "maybe") return error;
  const text = `earlier responses of this turn stay and may be billed; the next one failed: ${error.message}`;
  const copy = new Error(text, { cause: error });
  // only for own errors, because a class of the app may need its constructor
  if (isOwn) Object.setPrototypeOf(copy, Object.getPrototypeOf(error));
  return Object.assign(copy, { ...error, name: error.name, billing: "maybe" });
}

function hasEnded({ controller }: Turn): boolean {
  return controller.signal.aborted;
}

/** Lists the messages of a turn that are in the thread. */
function listMessages({ chat, added }: Turn): readonly ChatMessage[] {
  return added.flatMap((id) => chat.thread.get(id)?.message ?? []);
}

/** Returns true if a tool call of the response has neither an output nor an error. */
function hasOpenCalls({ chat }: Turn, id: string | undefined): boolean {
  return chat.thread.get(id)?.message.toolCalls?.some(isOpen) ?? false;
}

/**
 * Creates a client that sends once the draft and its key are stored. If the page is killed right after, a reload finds
 * the key. A slow storage delays a request by at most {@link WRITE_MS}.
 */
function delayUntilWritten({ client, storage }: Chat): Client {
  const writing = client.idempotencyKeys ? storage.writeAll() : undefined;
  if (!writing) return client;
  const written = awaitWithin(client.clock, WRITE_MS, writing, "the storage").catch(() => {});
  return { ...client, headers: (request) => written.then(() => client.headers(request)) };
}

/** Creates a client whose events and `headers` name the chat and the message. */
function addCallNames(client: Client, names: Pick<CallInfo, "chatId" | "messageId">): Client {
  return {
    ...client,
    headers: (request) => client.headers({ ...request, ...names }),
    emit: (event) => client.emit("kind" in event ? { ...event, ...names } : event),
  };
}
