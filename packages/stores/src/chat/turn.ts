import { type CallInfo, type ChatRequest, type Client, isGatewayError } from "@sluice/core";
import { awaitWithin, createRandomId, readDelivery, type StoreControl, toError } from "@sluice/core/internal";
import { requestOptionsOf } from "../request-options.js";
import { READY, reduceTurn, type TurnEffect, type TurnEvent, type TurnState } from "./machine.js";
import {
  asDraft,
  type ChatMessage,
  type ChatTurn,
  isLost,
  isOpen,
  isPending,
  withCallsClosed,
} from "./message.js";
import type { ChatStoreOptions } from "./options.js";
import type { Place } from "./place.js";
import { requestOf } from "./request.js";
import { createResponse, type Response } from "./response.js";
import type { ChatState } from "./state.js";
import type { StorageSession } from "./storage-session.js";
import type { Thread } from "./thread.js";
import type { ToolCalls } from "./tool-calls.js";
import { afterResponses, elsewhere } from "./turn-ends.js";

const MAX_STEPS = 8;
/** Longest time that a request waits until its draft is written, in milliseconds. */
const WRITE_MS = 500;

/** Parts of a chat that a turn needs. */
export interface TurnContext {
  readonly client: Client;
  /** The chat's `id`, for the events of its calls. */
  readonly chatId: string | undefined;
  readonly thread: Thread;
  readonly store: StoreControl<ChatState>;
  readonly storage: StorageSession;
  readonly options: () => ChatStoreOptions;
  /** Shows the thread, which another tab may have changed meanwhile. */
  readonly refresh: () => void;
  /** Aborts when the turn ends: it writes nothing into the thread after that. */
  readonly owner: AbortController;
  /** The first response of the turn, if a closed tab has left it unfinished. */
  readonly left?: ChatMessage | undefined;
  /** Id of the message that the turn works on: a response in flight, or one whose calls wait. */
  workedOn: string | undefined;
  readonly onEnd: (turn: ChatTurn) => void;
}

/** A turn in flight. While it runs, only this turn writes responses into the thread. */
export interface Turn extends TurnContext {
  readonly result: Promise<ChatTurn>;
  readonly resolve: (turn: ChatTurn) => void;
  state: TurnState;
  /** Ids of the messages that the turn has added, in order. */
  readonly added: string[];
  place?: Place;
  /** The request of the response that is read next; undefined for a response that the proxy stores. */
  request?: ChatRequest | undefined;
  /** The response in flight, and its message as it was last put into the thread. */
  response?: Response | undefined;
  shown?: ChatMessage | undefined;
  /** The code for tool calls, once it is needed. */
  calls?: ToolCalls;
  loading?: Promise<ToolCalls>;
}

/** Creates a turn, which does nothing before {@link startTurn}. */
export function createTurn(context: TurnContext): Turn {
  let resolve!: Turn["resolve"];
  const result = new Promise<ChatTurn>((resolveTurn) => {
    resolve = resolveTurn;
  });
  return { ...context, result, resolve, state: READY, added: [] };
}

/** Starts a turn at a place of the thread. Without images its request is sent in the same task. */
export function startTurn(turn: Turn, found: Place | Promise<Place>): void {
  dispatch(turn, { type: "start" });
  if (found instanceof Promise)
    found.then(
      (place) => placed(turn, place),
      (error) => dispatch(turn, { type: "failed", error }),
    );
  else placed(turn, found);
}

/** Ends a turn at once. The text so far stays. */
export function stopTurn(turn: Turn): void {
  dispatch(turn, { type: "stopped" });
}

/** Ends a turn with which another device has gone on. */
function leaveTurn(turn: Turn): void {
  if (hasEnded(turn)) return;
  turn.state = READY;
  endTurn(turn, { outcome: "truncated", error: elsewhere() });
}

/** Reports that a tool call was approved, denied or answered. */
export function noteCallChange({ state, calls }: Turn): void {
  if (state.name === "calling") calls?.changed();
}

/** Puts a response that has grown into the thread. */
export function showGrowth(turn: Turn): void {
  const { response, thread } = turn;
  if (!response || response.message === turn.shown) return;
  turn.shown = response.message;
  thread.put(response.message);
}

function dispatch(turn: Turn, event: TurnEvent): void {
  const { state, effect } = reduceTurn(turn.state, event);
  turn.state = state;
  if (effect) perform(turn, effect);
}

function perform(turn: Turn, effect: TurnEffect): void {
  switch (effect.type) {
    case "request":
      return attempt(turn, () => request(turn, effect.below, effect.isFirst));
    case "read":
      return attempt(turn, () => read(turn, effect.id));
    case "call-tools":
      return attempt(turn, () => callTools(turn, effect.id));
    case "end-at-limit":
      turn.calls?.endAtLimit(effect.id, effect.steps);
      return endTurn(turn);
    case "end":
      return endTurn(turn);
    case "end-failed":
      return endFailed(turn, effect.error);
    case "end-stopped":
      return endStopped(turn);
  }
}

function attempt(turn: Turn, act: () => Promise<void>): void {
  act().catch((error) => dispatch(turn, { type: "failed", error }));
}

function placed(turn: Turn, place: Place): void {
  if (hasEnded(turn)) return;
  const { below, added, stored } = place;
  turn.place = place;
  turn.added.push(...added);
  if (stored) turn.added.push(stored.id);
  const hasOpenCalls = hasOpen(turn, below);
  dispatch(turn, { type: "placed", below, hasOpenCalls, stored: turn.left?.id ?? stored?.id });
}

/** Makes the next request, and adds the draft of its response. */
async function request(turn: Turn, below: string | undefined, isFirst: boolean): Promise<void> {
  const { client, thread, storage } = turn;
  const taken = isTaken(turn, below);
  if (taken && (await taken)) return leaveTurn(turn);
  if (hasEnded(turn)) return;
  const options = turn.options();
  const made = requestOf(client, options, thread.pathTo(below));
  const whole = made instanceof Promise ? await made : made;
  const request = options.prepareMessages
    ? await (await import("./history.js")).prepared(client, whole, options, turn.owner.signal)
    : whole;
  if (hasEnded(turn)) return;
  const given = isFirst ? turn.place?.idempotencyKey : undefined;
  const newKey = () => storage.keeper?.keyBelow(below, request) ?? createRandomId();
  const draft: ChatMessage = {
    id: createRandomId(),
    role: "assistant",
    content: "",
    model: request.model,
    createdAt: Date.now(),
    ...(client.idempotencyKeys && { idempotencyKey: given ?? newKey() }),
  };
  turn.workedOn = draft.id;
  storage.keeper?.hold(draft.id, turn.result);
  thread.add(draft, below, draft.idempotencyKey);
  turn.added.push(draft.id);
  turn.request = request;
  dispatch(turn, { type: "requested", id: draft.id });
}

/** Reads a response to its end. Without a request it is one that the proxy stores. */
async function read(turn: Turn, id: string): Promise<void> {
  const { thread, request, place } = turn;
  const options = turn.options();
  const { outputSchema: schema, tools = [], maxSteps = MAX_STEPS } = options;
  const message = thread.node(id)?.message as ChatMessage;
  if (tools.length > 0) void loadCalls(turn);
  const client = naming(request ? afterWriting(turn) : turn.client, { chatId: turn.chatId, messageId: id });
  const response = createResponse(client, asDraft(message), request, {
    ...requestOptionsOf(options),
    schema,
  });
  turn.response = response;
  turn.refresh();
  const whole = await response.read(turn.store.changed);
  if (hasEnded(turn)) return;
  const { error } = whole;
  if (request && isGatewayError(error) && readDelivery(error) === "not-sent") {
    turn.storage.keeper?.forgetKey(whole.idempotencyKey);
    throw error;
  }
  let admitted = whole;
  try {
    if (whole.outcome === "tool-calls" && whole.toolCalls)
      admitted = await (await loadCalls(turn)).admit(whole);
  } finally {
    // also where the code for calls could not be loaded: the response stays
    if (!hasEnded(turn)) {
      thread.put(admitted);
      turn.response = undefined;
    }
  }
  if (hasEnded(turn)) return;
  turn.request = undefined;
  if (place?.stored?.id === id && isLost(admitted)) {
    turn.added.pop();
    return dispatch(turn, { type: "lost", below: place.below });
  }
  const callsTools = admitted.outcome === "tool-calls" && !!admitted.toolCalls?.length;
  if (callsTools) turn.refresh();
  dispatch(turn, { type: "responded", callsTools, maxSteps });
}

/** Runs the calls of a response, until none is left that may run. */
async function callTools(turn: Turn, id: string): Promise<void> {
  // without a call that may run, the next request is sent in the same task
  if (hasOpen(turn, id)) {
    const taken = isTaken(turn, id);
    if (taken && (await taken)) return leaveTurn(turn);
    const calls = await loadCalls(turn);
    if (hasEnded(turn)) return;
    await calls.settle(id);
  }
  dispatch(turn, { type: "settled", isOver: hasOpen(turn, id) || isPassed(turn.thread, id) });
}

/** Asks if another device went on with a response, as this page was cut off. Undefined where that can't be. */
function isTaken({ storage, owner }: Turn, id: string | undefined): Promise<boolean> | undefined {
  return id === undefined ? undefined : storage.keeper?.isTaken(id, owner.signal);
}

/** True if another tab sent a message below a response with calls: no response of this turn would follow it. */
function isPassed(thread: Thread, id: string): boolean {
  if (!thread.node(id)?.message.toolCalls?.length) return false;
  return thread
    .ids()
    .some((below) => thread.parentOf(below) === id && thread.node(below)?.message.role === "user");
}

/** Loads the code that decides about calls and runs them. */
function loadCalls(turn: Turn): Promise<ToolCalls> {
  const { client, chatId, thread, options, owner, refresh } = turn;
  turn.loading ??= import("./tool-calls.js").then(({ createToolCalls }) => {
    turn.calls = createToolCalls({
      client,
      chatId,
      thread,
      tools: () => options().tools,
      signal: owner.signal,
      onChange: refresh,
      written: () => turn.storage.keeper?.written(),
    });
    return turn.calls;
  });
  // the caller that needs it gets the error
  turn.loading.catch(() => {});
  return turn.loading;
}

function endStopped(turn: Turn): void {
  const { thread, response, added } = turn;
  if (response) thread.put(response.stop());
  const last = thread.node(added.at(-1))?.message;
  if (last) thread.put(withCallsClosed(last, "the user stopped the answer before the call had a result"));
  endTurn(turn, { outcome: "stopped" });
}

/** Ends a turn whose next request was not sent. The last response keeps the error, for a reload and other tabs. */
function endFailed(turn: Turn, cause: unknown): void {
  const { thread, left } = turn;
  // in the tick in which the turn ends: a merge would take a missing draft for a chat that another tab has cleared
  const draft = messagesOf(turn).at(-1);
  if (draft?.role === "assistant" && !draft.outcome && draft.id !== left?.id) thread.remove(draft.id);
  const last = messagesOf(turn).at(-1);
  if (last?.role !== "assistant") return endTurn(turn, { outcome: "not-sent", error: toError(cause) });
  const error = afterResponses(toError(cause));
  const isRunning = (call: Parameters<typeof isOpen>[0]) => isOpen(call) && !isPending(call);
  const message = withCallsClosed(last, "the chat could not continue", isRunning);
  thread.put({ ...message, outcome: last.outcome ?? "error", error });
  endTurn(turn, { outcome: "error", error });
}

/** Ends a turn, by default as its last response ended. */
function endTurn(turn: Turn, end: Partial<Pick<ChatTurn, "outcome" | "error">> = {}): void {
  turn.response = undefined;
  turn.owner.abort(new DOMException("The answer was stopped", "AbortError"));
  const messages = messagesOf(turn);
  const error = end.error ?? errorOf(messages);
  const outcome = end.outcome ?? messages.at(-1)?.outcome ?? "not-sent";
  const ended: ChatTurn = { messages, outcome, ...(error && { error }) };
  try {
    turn.onEnd(ended);
  } finally {
    turn.resolve(ended);
  }
}

/** Error of the last of a turn's messages, as the error of the turn. */
function errorOf(messages: readonly ChatMessage[]): Error | undefined {
  const error = messages.at(-1)?.error;
  return error && messages.at(-2)?.role === "assistant" ? afterResponses(error) : error;
}

function hasEnded({ owner }: Turn): boolean {
  return owner.signal.aborted;
}

/** Lists the messages of a turn that are in the thread. */
function messagesOf({ thread, added }: Turn): readonly ChatMessage[] {
  return added.flatMap((id) => thread.node(id)?.message ?? []);
}

/** True for a response with a tool call that has neither an output nor an error. */
function hasOpen({ thread }: Turn, id: string | undefined): boolean {
  return thread.node(id)?.message.toolCalls?.some(isOpen) ?? false;
}

/**
 * Makes a client that sends when the draft is written, with its key: a page that is killed right after leaves the key
 * behind. A slow storage delays a response by {@link WRITE_MS} at most.
 */
function afterWriting({ client, storage }: Turn): Client {
  const writing = client.idempotencyKeys ? storage.keeper?.written() : undefined;
  if (!writing) return client;
  const written = awaitWithin(client.clock, WRITE_MS, writing, "the storage").catch(() => {});
  return { ...client, headers: (request) => written.then(() => client.headers(request)) };
}

/** Makes a client whose calls name a chat and a message, in their events and for `headers`. */
function naming(client: Client, place: Pick<CallInfo, "chatId" | "messageId">): Client {
  return {
    ...client,
    headers: (request) => client.headers({ ...request, ...place }),
    emit: (event) => client.emit("kind" in event ? { ...event, ...place } : event),
  };
}
