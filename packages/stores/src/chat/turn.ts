import { type CallInfo, type ChatRequest, type Client, isGatewayError } from "@sluice/core";
import { awaitWithin, createRandomId, getDelivery, type StoreControl, toError } from "@sluice/core/extend";
import { pickRequestOptions } from "../base/request-options.js";
import type { InsertionPoint } from "./insertion-point.js";
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
import type { ChatStoreOptions } from "./options.js";
import { createRequest } from "./request.js";
import { createResponse, type Response } from "./response.js";
import type { StorageSession } from "./session.js";
import type { ChatState } from "./state.js";
import type { Thread } from "./thread.js";
import type { ToolCalls } from "./tool-calls.js";
import type { RunningTurn } from "./turn-ends.js";
import { toTurnError } from "./turn-ends.js";

const MAX_STEPS = 8;
/** Maximum time that a request waits for the write of its draft, in milliseconds. */
const WRITE_MS = 500;

/** The fields of a chat that a turn needs. */
export interface TurnContext {
  readonly client: Client;
  /** The chat's `id`, for the events of its calls. */
  readonly chatId: string | undefined;
  readonly thread: Thread;
  readonly store: StoreControl<ChatState>;
  readonly storage: StorageSession;
  readonly options: () => ChatStoreOptions;
  /** Shows the thread. Another tab may have changed it. */
  readonly refresh: () => void;
  /** Aborts when the turn ends. After that, the turn writes nothing into the thread. */
  readonly owner: AbortController;
  /** First response of the turn, if a closed tab has left it unfinished. */
  readonly interrupted?: ChatMessage | undefined;
  /** Id of the message that the turn works on: a response in flight or with open calls. */
  workedOn: string | undefined;
  readonly onEnd: (turn: ChatTurn) => void;
}

/** A turn in flight. While it runs, no other code of this page writes responses into the thread. */
export interface Turn extends TurnContext {
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
  /** Handler of the tool calls, once its code is loaded. */
  calls?: ToolCalls;
  loading?: Promise<ToolCalls>;
}

/** Creates a turn. It does nothing before {@link startTurn}. */
export function createTurn(context: TurnContext): Turn {
  let resolve!: Turn["resolve"];
  const result = new Promise<ChatTurn>((resolveTurn) => {
    resolve = resolveTurn;
  });
  return { ...context, result, resolve, state: { name: "placing" }, added: [] };
}

/** Starts a turn at a point of the thread. Without images the request is sent in the same task. */
export function startTurn(turn: Turn, found: InsertionPoint | Promise<InsertionPoint>): void {
  if (found instanceof Promise)
    found.then(
      (point) => handlePlaced(turn, point),
      (error) => dispatch(turn, { type: "failed", error }),
    );
  else handlePlaced(turn, found);
}

/** Returns the turn as the chat sees it. */
export function toRunningTurn(turn: Turn): RunningTurn {
  const stop = () => dispatch(turn, { type: "stopped" });
  return {
    result: turn.result,
    get workedOn() {
      return turn.workedOn;
    },
    get status() {
      const { state, response } = turn;
      if (state.name === "calling") return "streaming";
      return state.name === "responding" && !response?.isWaiting ? "streaming" : "submitted";
    },
    showGrowth: () => showGrowth(turn),
    stop,
    close: stop,
    noteCallChange() {
      if (turn.state.name === "calling") turn.calls?.noteChange();
    },
  };
}

/** Puts a response that has grown into the thread. */
function showGrowth(turn: Turn): void {
  const { response, thread } = turn;
  if (!response || response.message === turn.shown) return;
  turn.shown = response.message;
  thread.put(response.message);
}

/** Changes the state by an event, and runs the action of the new state. */
function dispatch(turn: Turn, event: TurnEvent): void {
  const state = reduceTurn(turn.state, event);
  if (state === turn.state) return;
  turn.state = state;
  void act(turn, state)?.catch((error) => dispatch(turn, { type: "failed", error }));
}

function act(turn: Turn, state: TurnState): Promise<void> | undefined {
  switch (state.name) {
    case "requesting":
      return request(turn, state.below, state.step === 1);
    case "responding":
      return read(turn, state.id);
    case "calling":
      return callTools(turn, state.id);
    case "ended":
      if (state.by === "failure") endFailed(turn, state.error);
      else if (state.by === "stop") endStopped(turn);
      else {
        if (state.by === "limit") turn.calls?.endAtLimit(state.id, state.step);
        endTurn(turn);
      }
  }
  return undefined;
}

function handlePlaced(turn: Turn, point: InsertionPoint): void {
  if (hasEnded(turn)) return;
  const { below, added, stored } = point;
  turn.point = point;
  turn.added.push(...added);
  if (stored) turn.added.push(stored.id);
  dispatch(turn, {
    type: "placed",
    below,
    hasOpenCalls: hasOpenCalls(turn, below),
    stored: turn.interrupted?.id ?? stored?.id,
  });
}

/** Creates the next request and adds the draft of its response. */
async function request(turn: Turn, below: string | undefined, isFirst: boolean): Promise<void> {
  const { client, thread, storage } = turn;
  const options = turn.options();
  const creating = createRequest(client, options, thread.getPath(below));
  const created = creating instanceof Promise ? await creating : creating;
  const request = options.prepareMessages
    ? await (await import("./history.js")).applyPrepareMessages(client, created, options, turn.owner.signal)
    : created;
  if (hasEnded(turn)) return;
  const given = isFirst ? turn.point?.idempotencyKey : undefined;
  const deriveKey = () => storage.records?.deriveKey(below, request) ?? createRandomId();
  const draft: ChatMessage = {
    id: createRandomId(),
    role: "assistant",
    content: "",
    model: request.model,
    createdAt: Date.now(),
    ...(client.idempotencyKeys && { idempotencyKey: given ?? deriveKey() }),
  };
  turn.workedOn = draft.id;
  storage.records?.holdLock(draft.id, turn.result);
  thread.add(draft, below, draft.idempotencyKey);
  turn.added.push(draft.id);
  turn.request = request;
  dispatch(turn, { type: "requested", id: draft.id });
}

/** Reads a response to its end. Without a request, the proxy stores the response. */
async function read(turn: Turn, id: string): Promise<void> {
  const { thread, request, point } = turn;
  const options = turn.options();
  const { outputSchema: schema, tools = [], maxSteps = MAX_STEPS } = options;
  const message = thread.get(id)?.message as ChatMessage;
  if (tools.length > 0) void loadCalls(turn);
  const client = addCallNames(request ? delayUntilWritten(turn) : turn.client, {
    chatId: turn.chatId,
    messageId: id,
  });
  const response = createResponse(client, toDraft(message), request, {
    ...pickRequestOptions(options),
    schema,
  });
  turn.response = response;
  turn.refresh();
  const ended = await response.read(turn.store.changed);
  if (hasEnded(turn)) return;
  const { error } = ended;
  if (request && isGatewayError(error) && getDelivery(error) === "not-sent") {
    turn.storage.records?.forgetKey(ended.idempotencyKey);
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
  if (point?.stored?.id === id && isLost(admitted)) {
    turn.added.pop();
    return dispatch(turn, { type: "lost", below: point.below });
  }
  const callsTools = admitted.outcome === "tool-calls" && !!admitted.toolCalls?.length;
  if (callsTools) turn.refresh();
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
  dispatch(turn, { type: "settled", isOver: hasOpenCalls(turn, id) || isOvertaken(turn.thread, id) });
}

/** Returns true if another tab sent a message below a response with calls. This turn then requests nothing more. */
function isOvertaken(thread: Thread, id: string): boolean {
  if (!thread.get(id)?.message.toolCalls?.length) return false;
  return thread
    .listIds()
    .some((below) => thread.getParent(below) === id && thread.get(below)?.message.role === "user");
}

/** Loads the code that checks and runs tool calls. */
function loadCalls(turn: Turn): Promise<ToolCalls> {
  const { client, chatId, thread, options, owner, refresh } = turn;
  turn.loading ??= import("./json-later.js").then(({ createToolCalls }) => {
    turn.calls = createToolCalls({
      client,
      chatId,
      thread,
      tools: () => options().tools,
      signal: owner.signal,
      onChange: refresh,
      writeAll: () => turn.storage.records?.writeAll(),
    });
    return turn.calls;
  });
  // a caller that awaits the code gets the error
  turn.loading.catch(() => {});
  return turn.loading;
}

function endStopped(turn: Turn): void {
  const { thread, response, added } = turn;
  if (response) thread.put(response.stop());
  const last = thread.get(added.at(-1))?.message;
  if (last) thread.put(closeToolCalls(last, "the user stopped the response before the call had a result"));
  endTurn(turn, { outcome: "stopped" });
}

/** Ends a turn whose next request was not sent. The last response stores the error for reloads and other tabs. */
function endFailed(turn: Turn, cause: unknown): void {
  const { thread, interrupted } = turn;
  // removed in the tick that ends the turn: a merge would take a missing draft for a chat that another tab has cleared
  const draft = listMessages(turn).at(-1);
  if (draft?.role === "assistant" && !draft.outcome && draft.id !== interrupted?.id) thread.remove(draft.id);
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
  turn.owner.abort(new DOMException("The response was stopped", "AbortError"));
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

/** Returns the error of a turn's last message as the error of the turn. */
function findError(messages: readonly ChatMessage[]): Error | undefined {
  const error = messages.at(-1)?.error;
  return error && messages.at(-2)?.role === "assistant" ? toTurnError(error) : error;
}

function hasEnded({ owner }: Turn): boolean {
  return owner.signal.aborted;
}

/** Lists the messages of a turn that are in the thread. */
function listMessages({ thread, added }: Turn): readonly ChatMessage[] {
  return added.flatMap((id) => thread.get(id)?.message ?? []);
}

/** Returns true if a tool call of the response has neither an output nor an error. */
function hasOpenCalls({ thread }: Turn, id: string | undefined): boolean {
  return thread.get(id)?.message.toolCalls?.some(isOpen) ?? false;
}

/**
 * Creates a client that sends once the draft and its key are stored. If the page is killed right after, a reload finds
 * the key. A slow storage delays a request by at most {@link WRITE_MS}.
 */
function delayUntilWritten({ client, storage }: Turn): Client {
  const writing = client.idempotencyKeys ? storage.records?.writeAll() : undefined;
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
