import { openSpan, unlessAborted } from "../../base/clock.js";
import { randomId } from "../../base/random-id.js";
import { storageOf } from "../../storage/client-storage.js";
import { isRecord, parseJSON } from "../../transport/error-response.js";
import { connectionError } from "../../transport/failure.js";
import { errorOf } from "../../transport/refusal.js";
import { requestOnce } from "../../transport/request-once.js";
import { asError, ConfigurationError, isGatewayError } from "../../vocabulary/errors.js";
import type { Chat, ReadOptions } from "./chat.js";
import { addQuestion, addVersion, type Place } from "./insertion-point.js";
import { isOpen, isPending, type ThreadMessage, type ThreadToolCall, type ThreadTurn } from "./message.js";
import { notSent } from "./not-sent.js";
import type { QueuedMessage } from "./queue.js";
import { isServing } from "./server-work.js";
import { lastMessage } from "./shown.js";
import { checkedInput, inputOf } from "./tool-input.js";
import type { ChatTool } from "./tools.js";
import { noteTurn, turnIdBelow } from "./turn-ids.js";
import { BUSY } from "./turns.js";

// loaded with the first turn of a chat that runs on the server

/** Answer of the user or the page to a call. */
type Reaction = { readonly approved: true } | { readonly denied: string } | { readonly output: unknown };

/** Pauses before a turn is handed over again whose parent the server lacks: its record is on its way. */
const PAUSES_MS = [100, 300, 1_000, 3_000, 5_000];

/** Longest wait for the records of a turn that has ended, in milliseconds. */
const NEWS_MS = 30_000;

/** Makes the verbs of a chat whose turns run on the server. */
export function serverTurns(chat: Chat, read: ReadOptions) {
  const { client, thread, store } = chat;
  return { send, again, react, stop: () => request(chat, "DELETE", "turns").then(() => {}) };

  /** Adds a question, and hands it over. One that the server refuses is taken back. */
  async function send(question: QueuedMessage): Promise<ThreadTurn> {
    const busy = await whenFree();
    if (busy) return busy;
    const { content, images, versionOf } = question;
    const { signal } = new AbortController();
    const { model } = read();
    let place: Place;
    try {
      place = await (versionOf === undefined
        ? addQuestion(thread, { content, images: images ?? [], below: lastMessage(chat)?.id, model }, signal)
        : addVersion(thread, versionOf, { content, images, model }, signal));
    } catch (cause) {
      return notSent(asError(cause));
    }
    const id = place.below as string;
    const { message } = thread.node(id) as { readonly message: ThreadMessage };
    const asked = { message: { ...message, branches: undefined }, parent: thread.parentOf(id) ?? null };
    const turn = await handOver({ id, ...asked }, id);
    const isRefused =
      turn.outcome === "not-sent" && (turn.error as { outcome?: string })?.outcome === "refused";
    if (isRefused && !turn.messages.length) thread.remove(id);
    store.flush();
    return turn;
  }

  /** Requests an answer below a message that is there. */
  async function again(below: string | undefined): Promise<ThreadTurn> {
    const last = lastMessage(chat);
    if (below === undefined || (last?.id === below && last.outcome === "complete"))
      return notSent(
        new ConfigurationError("there is nothing to retry: regenerate() asks for another answer"),
      );
    const busy = await whenFree();
    if (busy) return busy;
    const message = thread.node(below)?.message;
    const isQuestion = message?.role === "user";
    // a question that never arrived goes along
    const asked = isQuestion
      ? {
          message: { ...message, branches: undefined, error: undefined },
          parent: thread.parentOf(below) ?? null,
        }
      : { parent: below };
    return await handOver({ id: turnIdBelow(thread, below), ...asked }, below);
  }

  /** Returns the turn of a caller that must not go on now. */
  async function whenFree(): Promise<ThreadTurn | undefined> {
    if (!isServing(chat)) return undefined;
    const { whenBusy = "reject" } = read();
    if (whenBusy === "reject") return notSent(new ConfigurationError(BUSY));
    if (whenBusy === "replace") await request(chat, "DELETE", "turns");
    await until(chat, () => !isServing(chat) || undefined);
    return undefined;
  }

  async function handOver(body: { readonly id: string }, below: string): Promise<ThreadTurn> {
    const before = lastMessage(chat);
    const questionBefore = thread.node(below)?.message;
    chat.handedOver = (chat.handedOver ?? 0) + 1;
    chat.error = undefined;
    store.flush();
    try {
      const isOver = await postTurn({ ...body, by: await thisDevice(chat) });
      noteTurn(thread, body.id);
      const ended = until(chat, () => endOf(below, before, questionBefore));
      const turn = await (isOver ? soon(chat, ended) : ended);
      chat.error = turn.error;
      return turn;
    } catch (cause) {
      const error = asError(cause);
      chat.error = error;
      return notSent(error);
    } finally {
      chat.handedOver -= 1;
      store.flush();
    }
  }

  /** Returns true for a turn that another device has handed over, and that has ended. */
  async function postTurn(body: object): Promise<boolean> {
    const post = async () => parseJSON(await request(chat, "POST", "turns", body));
    for (const pause of PAUSES_MS)
      try {
        return isOverIn(await post());
      } catch (cause) {
        if ((cause as { apiCode?: string }).apiCode !== "message_unknown") throw cause;
        await client.clock.sleep(pause, new AbortController().signal);
      }
    return isOverIn(await post());
  }

  /** Reads from the thread that a turn has ended, or waits; undefined before. */
  function endOf(
    below: string,
    before: ThreadMessage | undefined,
    questionBefore: ThreadMessage | undefined,
  ): ThreadTurn | undefined {
    const question = thread.node(below)?.message;
    if (!question) return { messages: [], outcome: "stopped" };
    const at = thread.path.findIndex(({ id }) => id === below);
    const messages = at === -1 ? [] : thread.path.slice(question.role === "user" ? at : at + 1);
    const last = thread.path.at(-1);
    if (question.error && question !== questionBefore && last === question)
      return question.error.name === "AbortError"
        ? { messages, outcome: "stopped" }
        : { messages, outcome: "not-sent", error: question.error };
    if (!last || last === before || last.role !== "assistant" || !last.outcome) return undefined;
    const { toolCalls = [], outcome, error } = last;
    const isWaiting =
      toolCalls.some(isPending) && !toolCalls.some((call) => isOpen(call) && !isPending(call));
    if (outcome === "tool-calls" && !isWaiting) return undefined;
    return { messages, outcome, ...(error && { error }) };
  }

  /** Answers a call that waits. The first answer of all devices counts. */
  async function react(toolCallId: string, reaction: Reaction): Promise<ThreadTurn> {
    const message = lastMessage(chat);
    const call = message?.toolCalls?.find(({ id }) => id === toolCallId);
    if (!message || !call || !isPending(call))
      return notSent(new ConfigurationError(`toolCallId: no call "${toolCallId}" waits for this`));
    try {
      await claim(chat, `/reaction/${message.id}/${toolCallId}`, reaction);
      return await until(chat, () => endOf(message.id, message, message));
    } catch (cause) {
      return notSent(asError(cause));
    }
  }
}

function isOverIn(answer: unknown): boolean {
  return isRecord(answer) && answer["isOver"] === true;
}

/** Waits for the records of a turn that has ended. They are on their way, unless they were removed since. */
function soon({ client: { clock } }: Chat, ended: Promise<ThreadTurn>): Promise<ThreadTurn> {
  const late = () => new DOMException("this was answered before, and the answer was removed", "TimeoutError");
  const { signal, end } = openSpan(clock, undefined, NEWS_MS, late);
  return unlessAborted(ended, signal).finally(end);
}

/** Resolves with what `find` gives after a change of the chat. */
function until<T>({ store }: Chat, find: () => T | undefined): Promise<T> {
  const found = find();
  if (found !== undefined) return Promise.resolve(found);
  return new Promise((resolve) => {
    const unsubscribe = store.subscribe(() => {
      const found = find();
      if (found === undefined) return;
      unsubscribe();
      resolve(found);
    });
  });
}

/** Calls that this page has begun, by the chat. */
const begun = new WeakMap<Chat, Set<string>>();

/** Runs calls of the last message that wait for a page, each in one page of all. */
export function runPageTools(chat: Chat): void {
  const message = lastMessage(chat);
  const known = begun.get(chat) ?? new Set();
  begun.set(chat, known);
  for (const call of message?.toolCalls ?? []) {
    const key = `${message?.id}/${call.id}`;
    const isOurs =
      call.state === "needs-result" &&
      chat.own().tools?.some(({ name, execute }) => execute && name === call.name);
    if (!message || !isOurs || known.has(key)) continue;
    known.add(key);
    void runPageTool(chat, message, call);
  }
}

async function runPageTool(chat: Chat, message: ThreadMessage, call: ThreadToolCall): Promise<void> {
  const tool = chat.own().tools?.find(({ name }) => name === call.name);
  try {
    if (!tool?.execute || !(await claim(chat, `/claim/${message.id}/${call.id}`, {}))) return;
    const output = await outputOf(chat, tool, message, call);
    await claim(chat, `/reaction/${message.id}/${call.id}`, { output: output ?? null });
  } catch {
    // the server asks no other page: it tells the model after a while that there is no result
  }
}

/** Runs a tool of the page. An error, also one of a slow tool, is its output: the model reads it. */
async function outputOf(
  { client, thread }: Chat,
  tool: ChatTool,
  message: ThreadMessage,
  call: ThreadToolCall,
): Promise<unknown> {
  const { timeoutMs } = tool;
  const late = () => new Error(`no result after ${timeoutMs} ms`);
  const span = openSpan(client.clock, undefined, timeoutMs, late);
  const { signal } = span;
  const context = { signal, toolCallId: call.id, messages: thread.pathTo(message.id), kept: undefined };
  const nothing = { keep: async () => {}, progress() {}, show() {} };
  const run = async () => {
    const input = await checkedInput(tool, inputOf(call));
    // a slow check may be over after the limit
    signal.throwIfAborted();
    return tool.execute?.(input, { ...context, ...nothing });
  };
  try {
    return await unlessAborted(run(), signal);
  } catch (cause) {
    return { error: asError(cause).message };
  } finally {
    span.end();
  }
}

/** Writes a record that nobody has written before. Returns false where somebody has. */
async function claim(chat: Chat, key: string, value: object): Promise<boolean> {
  const text = await request(chat, "POST", "records", {
    changes: { [key]: { value: { ...value, nonce: randomId() }, seen: 0 } },
  });
  const { taken = {} } = JSON.parse(text) as { taken?: Record<string, number> };
  return Object.hasOwn(taken, key);
}

/** Sends one request about the conversation. @throws {GatewayError} */
async function request(
  { client, id = "" }: Chat,
  method: string,
  part: string,
  body?: object,
): Promise<string> {
  const path = `/v1/conversations/${encodeURIComponent(id)}/${part}`;
  const sent = body && {
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ device: PAGE, ...body }),
  };
  try {
    return await requestOnce(client, path, { method, ...sent }, async (response) => {
      if (!response.ok) throw await errorOf(response, client, new AbortController().signal);
      return await response.text();
    });
  } catch (cause) {
    throw isGatewayError(cause) ? cause : connectionError(cause);
  }
}

/** Returns the id of this device, by which the others see that the question is not theirs; undefined if none is kept. */
function thisDevice({ client, own }: Chat): Promise<string | undefined> {
  const { storage } = own();
  const devices = storage && storageOf(client, storage).devices;
  return Promise.resolve(devices?.id()).catch(() => undefined);
}

/** Name of this page among the devices; it is no identity. */
const PAGE = randomId();
