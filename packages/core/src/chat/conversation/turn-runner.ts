import { randomId } from "../../base/random-id.js";
import type { Client } from "../../client.js";
import { asError, isGatewayError } from "../../errors.js";
import type { ChatRequest } from "../protocol/request-body.js";
import { type Answer, createAnswer } from "./draft.js";
import type { Place } from "./insertion-point.js";
import {
  isOpen,
  type ThreadMessage,
  type ThreadToolCall,
  type ThreadTurn,
  withCallsClosed,
} from "./message.js";
import type { Thread } from "./message-tree.js";
import type { ChatStoreOptions } from "./options.js";
import { requestOf } from "./prompt.js";
import { admitCall, type CallContext, runCall } from "./tools.js";

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
  /** Called when the answer has grown. */
  readonly onDelta: () => void;
  /** Called when a message was added or completed, or a tool call has changed. */
  readonly onChange: () => void;
  readonly onEnd: (turn: ThreadTurn) => void;
}

const MAX_STEPS = 8;

/**
 * Creates a turn. It requests an answer, runs the tools that the answer calls, and repeats this. It ends with an answer
 * without calls, a call that waits for the user or the app, or after `maxSteps` answers.
 */
export function createRun(context: RunContext): Run {
  const { client, thread, options, owner, place, left, onDraft, onDelta, onChange, onEnd } = context;
  const { signal } = owner;
  const added: string[] = [];
  const working = new Set<AbortController>();
  signal.addEventListener("abort", () => {
    for (const controller of working) controller.abort(signal.reason);
  });
  let answer: Answer | undefined;
  let runsTools = false;
  let callChanged: () => void = () => {};
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
      steps().then(
        () => end({}),
        (cause) => end({ outcome: "not-sent", error: asError(cause) }),
      );
    },
    callChanged: () => callChanged(),
    stop() {
      if (answer) thread.put(answer.stop());
      closeCalls(added.at(-1), "the user stopped the answer before the call had a result");
      end({ outcome: "stopped" });
    },
  };

  async function steps(): Promise<void> {
    const { below, added: questions } = place instanceof Promise ? await place : place;
    added.push(...questions);
    let leaf = below;
    for (let step = 1; ; step += 1) {
      if (leaf !== undefined && callsOf(leaf).some(isOpen)) {
        runsTools = true;
        await settleCalls(leaf);
        runsTools = false;
      }
      if (signal.aborted || callsOf(leaf).some(isOpen)) return;
      leaf = left && step === 1 ? await readAnswer(left, undefined) : await requestAnswer(leaf);
      if (signal.aborted || leaf === undefined) return;
      const { outcome, toolCalls } = thread.node(leaf)?.message ?? {};
      if (outcome !== "tool-calls" || !toolCalls?.length) return;
      if (step >= (options().maxSteps ?? MAX_STEPS))
        return closeCalls(leaf, `not run: the limit of ${step} answers in a row was reached`);
    }
  }

  async function requestAnswer(below: string | undefined): Promise<string | undefined> {
    const made = requestOf(client, options(), thread.pathTo(below));
    const chatRequest = made instanceof Promise ? await made : made;
    if (signal.aborted) return below;
    const draft: ThreadMessage = {
      id: randomId(),
      role: "assistant",
      content: "",
      model: chatRequest.model,
      createdAt: Date.now(),
    };
    onDraft(draft.id);
    thread.add(draft, below);
    added.push(draft.id);
    return readAnswer(draft, chatRequest);
  }

  async function readAnswer(draft: ThreadMessage, chatRequest: ChatRequest | undefined): Promise<string> {
    const { schema, request = {} } = options();
    answer = createAnswer(client, draft, chatRequest, { ...request, schema });
    onChange();
    const message = await answer.read(onDelta);
    if (signal.aborted) return draft.id;
    const { error } = message;
    if (chatRequest && isGatewayError(error) && error.outcome === "not-sent") {
      answer = undefined;
      thread.remove(draft.id);
      throw error;
    }
    const admitted = await withCallsAdmitted(message);
    if (signal.aborted) return draft.id;
    answer = undefined;
    thread.put(admitted);
    // without a next step, the end of the run is the only change to show
    if (admitted.outcome === "tool-calls") onChange();
    return draft.id;
  }

  async function withCallsAdmitted(message: ThreadMessage): Promise<ThreadMessage> {
    const { outcome, toolCalls } = message;
    if (outcome !== "tool-calls" || !toolCalls) return message;
    const messages = thread.pathTo(message.id);
    const admitted = await Promise.all(toolCalls.map((call) => work(admitCall, call, messages)));
    return { ...message, toolCalls: admitted };
  }

  /**
   * Runs all calls that may run, in parallel, until none is left. Calls that wait for the user or the app stay open.
   */
  function settleCalls(id: string): Promise<void> {
    // by position, because a model may give two calls the same id
    const running = new Set<number>();
    let settled = new Map<number, ThreadToolCall>();
    return new Promise((resolve) => {
      callChanged = runCalls;
      runCalls();

      function runCalls(): void {
        const messages = thread.pathTo(id);
        callsOf(id).forEach((call, place) => {
          if (call.state !== "running" || running.has(place)) return;
          running.add(place);
          void work(runCall, call, messages).then((result) => {
            // calls that end together are one change
            if (settled.size === 0) queueMicrotask(showSettled);
            settled.set(place, result);
          });
        });
        if (running.size === 0 || signal.aborted) resolve();
      }

      function showSettled(): void {
        const toolCalls = callsOf(id).map((call, place) => settled.get(place) ?? call);
        for (const place of settled.keys()) running.delete(place);
        settled = new Map();
        const message = thread.node(id)?.message;
        if (message && !signal.aborted) {
          thread.put({ ...message, toolCalls });
          onChange();
        }
        runCalls();
      }
    });
  }

  /**
   * Works on one call, under its own signal. A listener for each call on the run's signal would cost quadratic time.
   */
  async function work(
    act: typeof runCall,
    call: ThreadToolCall,
    messages: CallContext["messages"],
  ): Promise<ThreadToolCall> {
    const { tools = [] } = options();
    const controller = new AbortController();
    working.add(controller);
    const { signal } = controller;
    return act(call, { tools, clock: client.clock, signal, messages }).finally(() => {
      working.delete(controller);
    });
  }

  function callsOf(id: string | undefined): readonly ThreadToolCall[] {
    return thread.node(id)?.message.toolCalls ?? [];
  }

  function closeCalls(id: string | undefined, reason: string): void {
    const message = thread.node(id)?.message;
    if (message) thread.put(withCallsClosed(message, reason));
  }

  function end({ outcome, error }: Partial<Pick<ThreadTurn, "outcome" | "error">>): void {
    if (signal.aborted) return;
    owner.abort(new DOMException("The answer was stopped", "AbortError"));
    answer = undefined;
    const messages = added.flatMap((id) => thread.node(id)?.message ?? []);
    const last = messages.at(-1);
    const cause = error ?? last?.error;
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
}
