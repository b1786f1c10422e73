import { within } from "../../base/clock.js";
import { randomId } from "../../base/random-id.js";
import type { Client } from "../../client.js";
import { asError, isGatewayError } from "../../vocabulary/errors.js";
import type { ChatRequest } from "../protocol/schema.js";
import { type Answer, createAnswer } from "./draft.js";
import type { Place } from "./insertion-point.js";
import {
  asDraft,
  isLost,
  isOpen,
  isPending,
  type ThreadMessage,
  type ThreadToolCall,
  type ThreadTurn,
  withCallsClosed,
} from "./message.js";
import type { Thread } from "./message-tree.js";
import type { ChatStoreOptions } from "./options.js";
import { requestOf } from "./prompt.js";
import type { ToolCalls } from "./tool-calls.js";
import { afterAnswers } from "./turn-error.js";

/** A turn in flight. While it runs, only this turn writes answers into the thread. */
export interface Run {
  readonly turn: Promise<ThreadTurn>;
  /** The answer that is streaming. */
  readonly answer: Answer | undefined;
  readonly runsTools: boolean;
  readonly start: () => void;
  /** Reports that a tool call was approved, denied or answered. */
  readonly callChanged: () => void;
  /** Ends the turn at once. The text so far stays, and no later text is written. */
  readonly stop: () => void;
}

/** Parts that a run needs. */
export interface RunContext {
  readonly client: Client;
  readonly thread: Thread;
  readonly options: () => ChatStoreOptions;
  /** Ends the run. After its signal has aborted, the run writes nothing into the thread. */
  readonly owner: AbortController;
  readonly place: Place | Promise<Place>;
  /** The first answer of the run, if a closed tab has left it unfinished. */
  readonly left?: ThreadMessage | undefined;
  /** Called before an answer with this id is added. */
  readonly onDraft: (id: string) => void;
  /** Writes all messages; undefined without a storage. */
  readonly write: () => Promise<unknown> | undefined;
  /** Called when the answer has grown. */
  readonly onDelta: () => void;
  /** Called when a message was added or completed, or a tool call has changed. */
  readonly onChange: () => void;
  readonly onEnd: (turn: ThreadTurn) => void;
}

const MAX_STEPS = 8;
/** Longest time that a request waits until its draft is written, in milliseconds. */
const WRITE_MS = 500;

/**
 * Creates a turn. It requests an answer, runs the tools that the answer calls, and repeats this. It ends with an answer
 * without calls, a call that waits for the user or the app, or after `maxSteps` answers.
 */
export function createRun(context: RunContext): Run {
  const { client, thread, options, owner, place, left, write, onDraft, onDelta, onChange, onEnd } = context;
  const { signal } = owner;
  const added: string[] = [];
  let answer: Answer | undefined;
  let runsTools = false;
  let loading: Promise<ToolCalls> | undefined;
  let calls: ToolCalls | undefined;
  let resolveTurn!: (turn: ThreadTurn) => void;
  const turn = new Promise<ThreadTurn>((resolve) => {
    resolveTurn = resolve;
  });

  return {
    turn,
    get answer() {
      return answer;
    },
    get runsTools() {
      return runsTools;
    },
    start() {
      steps().then(() => end({}), fail);
    },
    callChanged: () => calls?.changed(),
    stop() {
      if (answer) thread.put(answer.stop());
      const [last] = messagesOf(added.slice(-1));
      if (last) thread.put(withCallsClosed(last, "the user stopped the answer before the call had a result"));
      end({ outcome: "stopped" });
    },
  };

  async function steps(): Promise<void> {
    const { below, added: questions, idempotencyKey, kept } = place instanceof Promise ? await place : place;
    added.push(...questions);
    let leaf = below;
    for (let step = 1; ; step += 1) {
      if (leaf !== undefined && callsOf(leaf).some(isOpen)) {
        runsTools = true;
        const { settle } = await loadCalls();
        if (signal.aborted) return;
        await settle(leaf);
        runsTools = false;
      }
      if (signal.aborted || callsOf(leaf).some(isOpen) || isPassed(leaf)) return;
      const known = step === 1 && (left ?? kept);
      leaf =
        (known && (await readKept(known, left === undefined))) ||
        (await requestAnswer(leaf, step === 1 ? idempotencyKey : undefined));
      if (signal.aborted || leaf === undefined) return;
      const { outcome, toolCalls } = thread.node(leaf)?.message ?? {};
      if (outcome !== "tool-calls" || !toolCalls?.length) return;
      if (step >= (options().maxSteps ?? MAX_STEPS)) return (await loadCalls()).endAtLimit(leaf, step);
    }
  }

  async function requestAnswer(below: string | undefined, repeatedKey?: string): Promise<string | undefined> {
    const current = options();
    const made = requestOf(client, current, thread.pathTo(below));
    const chatRequest = made instanceof Promise ? await made : made;
    if (signal.aborted) return below;
    const draft: ThreadMessage = {
      id: randomId(),
      role: "assistant",
      content: "",
      model: chatRequest.model,
      createdAt: Date.now(),
      ...(client.idempotencyKeys && { idempotencyKey: repeatedKey ?? randomId() }),
    };
    onDraft(draft.id);
    thread.add(draft, below);
    added.push(draft.id);
    return readAnswer(draft, chatRequest, current);
  }

  /**
   * Reads an answer again that the proxy keeps. With `isRetry` it returns undefined where the proxy has lost it: then it
   * is requested again.
   */
  async function readKept(message: ThreadMessage, isRetry: boolean): Promise<string | undefined> {
    const { id } = message;
    if (isRetry) added.push(id);
    await readAnswer(asDraft(message), undefined, options());
    if (!isRetry || signal.aborted || !isLost(thread.node(id)?.message)) return id;
    added.pop();
    return undefined;
  }

  async function readAnswer(
    draft: ThreadMessage,
    chatRequest: ChatRequest | undefined,
    { schema, request = {}, tools = [] }: ChatStoreOptions,
  ): Promise<string> {
    if (tools.length > 0) void loadCalls();
    answer = createAnswer(chatRequest ? afterWriting() : client, draft, chatRequest, { ...request, schema });
    onChange();
    const message = await answer.read(onDelta);
    if (signal.aborted) return draft.id;
    const { error } = message;
    if (chatRequest && isGatewayError(error) && error.outcome === "not-sent") {
      answer = undefined;
      throw error;
    }
    let admitted = message;
    try {
      if (message.outcome === "tool-calls" && message.toolCalls)
        admitted = await (await loadCalls()).admit(message);
    } finally {
      // also where the code for calls could not be loaded: the answer stays
      if (!signal.aborted) thread.put(admitted);
    }
    if (signal.aborted) return draft.id;
    answer = undefined;
    // without a next step, the end of the run is the only change to show
    if (message.outcome === "tool-calls") onChange();
    return draft.id;
  }

  /**
   * Makes a client that sends when the draft is written, with its key: a page that is killed right after leaves the key
   * behind. A slow storage delays an answer by {@link WRITE_MS} at most.
   */
  function afterWriting(): Client {
    const writing = client.idempotencyKeys ? write() : undefined;
    if (!writing) return client;
    const written = within(client.clock, WRITE_MS, writing, "the storage").catch(() => {});
    return { ...client, headers: () => written.then(client.headers) };
  }

  /** Loads the code that decides about calls and runs them. */
  function loadCalls(): Promise<ToolCalls> {
    loading ??= import("./tool-calls.js").then(({ createToolCalls }) => {
      calls = createToolCalls({ client, thread, tools: () => options().tools, signal, onChange });
      return calls;
    });
    loading.catch(() => {});
    return loading;
  }

  /** True if another tab sent a message below an answer with calls: no answer of this turn would follow it. */
  function isPassed(id: string | undefined): boolean {
    if (callsOf(id).length === 0) return false;
    return thread
      .ids()
      .some((below) => thread.parentOf(below) === id && thread.node(below)?.message.role === "user");
  }

  function callsOf(id: string | undefined): readonly ThreadToolCall[] {
    return thread.node(id)?.message.toolCalls ?? [];
  }

  /** Ends a turn whose next request was not sent. The last answer keeps the error, for a reload and other tabs. */
  function fail(cause: unknown): void {
    if (signal.aborted) return;
    // in the tick in which the turn ends: a merge would take a missing draft for a chat that another tab has cleared
    const draft = messagesOf(added).at(-1);
    if (draft?.role === "assistant" && !draft.outcome && draft.id !== left?.id) thread.remove(draft.id);
    const last = messagesOf(added).at(-1);
    if (last?.role !== "assistant") return end({ outcome: "not-sent", error: asError(cause) });
    const error = afterAnswers(asError(cause));
    const message = withCallsClosed(last, "the chat could not continue", isRunning);
    thread.put({ ...message, outcome: last.outcome ?? "interrupted", error });
    end({ outcome: "interrupted", error });
  }

  function end({ outcome, error }: Partial<Pick<ThreadTurn, "outcome" | "error">>): void {
    if (signal.aborted) return;
    owner.abort(new DOMException("The answer was stopped", "AbortError"));
    answer = undefined;
    const messages = messagesOf(added);
    const last = messages.at(-1);
    const cause = error ?? errorOf(messages);
    const ended: ThreadTurn = {
      messages,
      outcome: outcome ?? last?.outcome ?? "not-sent",
      ...(cause && { error: cause }),
    };
    try {
      onEnd(ended);
    } finally {
      resolveTurn(ended);
    }
  }

  function messagesOf(ids: readonly string[]): readonly ThreadMessage[] {
    return ids.flatMap((id) => thread.node(id)?.message ?? []);
  }
}

/** Error of the last of a turn's messages, as the error of the turn. */
function errorOf(messages: readonly ThreadMessage[]): Error | undefined {
  const error = messages.at(-1)?.error;
  return error && messages.at(-2)?.role === "assistant" ? afterAnswers(error) : error;
}

function isRunning(call: ThreadToolCall): boolean {
  return isOpen(call) && !isPending(call);
}
