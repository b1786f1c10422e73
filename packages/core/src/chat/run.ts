import { asError } from "../errors.js";
import type { Client } from "../http.js";
import { type Answer, createAnswer } from "./answer.js";
import {
  createMessageId,
  isOpen,
  type ThreadMessage,
  type ThreadToolCall,
  type ThreadTurn,
  withCallsClosed,
} from "./message.js";
import type { ChatStoreOptions } from "./options.js";
import type { Place } from "./place.js";
import { requestOf } from "./prompt.js";
import type { ChatRequest } from "./schema.js";
import type { Thread } from "./thread.js";
import { admitCall, runCall } from "./tools.js";

/** A turn under way. While it runs, it alone writes answers into the thread. */
export interface Run {
  readonly turn: Promise<ThreadTurn>;
  /** The answer that is streaming. */
  readonly answer: Answer | undefined;
  readonly runsTools: boolean;
  readonly start: () => void;
  /** A tool call was approved, denied or answered from outside. */
  readonly callChanged: () => void;
  /** Ends the turn at once: what came stays, and nothing of it is written any more. */
  readonly stop: () => void;
}

/** What a run works on. */
export interface RunContext {
  readonly client: Client;
  readonly thread: Thread;
  readonly options: () => ChatStoreOptions;
  /** Ends the run: once its signal has aborted, the run writes nothing into the thread. */
  readonly owner: AbortController;
  readonly place: Place | Promise<Place>;
  /** The answer to begin with, where it is one that a page was left with. */
  readonly left?: ThreadMessage | undefined;
  /** More of the answer came. */
  readonly onDelta: () => void;
  /** A message was added, or is whole, or a tool call got on. */
  readonly onChange: () => void;
  readonly onEnd: (turn: ThreadTurn) => void;
}

const MAX_STEPS = 8;

/**
 * Creates a turn: asks, runs the tools that are called, asks again, until an answer calls none, a call waits for
 * somebody, or `maxSteps` is reached.
 */
export function createRun(context: RunContext): Run {
  const { client, thread, options, owner, place, left, onDelta, onChange, onEnd } = context;
  const { signal } = owner;
  const added: string[] = [];
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
      if (signal.aborted) return;
      if (answer) thread.put(answer.stop());
      closeCalls(added.at(-1), "the user stopped the answer before the call had a result");
      end({ outcome: "stopped" });
    },
  };

  async function steps(): Promise<void> {
    const { below, added: asked } = place instanceof Promise ? await place : place;
    added.push(...asked);
    let leaf = below;
    for (let step = 1; ; step += 1) {
      if (openCalls(leaf).length > 0) {
        runsTools = true;
        await settleCalls(leaf);
        runsTools = false;
      }
      if (signal.aborted || openCalls(leaf).length > 0) return;
      leaf = left && step === 1 ? await readAnswer(left, undefined) : await ask(leaf);
      if (signal.aborted || leaf === undefined) return;
      const { outcome, toolCalls } = thread.node(leaf)?.message ?? {};
      if (outcome !== "tool-calls" || !toolCalls?.length) return;
      if (step >= (options().maxSteps ?? MAX_STEPS))
        return closeCalls(leaf, `not run: the limit of ${step} answers in a row was reached`);
    }
  }

  async function ask(below: string | undefined): Promise<string | undefined> {
    const made = requestOf(client, options(), thread.pathTo(below));
    const asked = made instanceof Promise ? await made : made;
    if (signal.aborted) return below;
    const draft: ThreadMessage = {
      id: createMessageId(),
      role: "assistant",
      content: "",
      model: asked.model,
      createdAt: Date.now(),
    };
    thread.add(draft, below);
    added.push(draft.id);
    return readAnswer(draft, asked);
  }

  async function readAnswer(draft: ThreadMessage, asked: ChatRequest | undefined): Promise<string> {
    const { schema, request = {} } = options();
    answer = createAnswer(client, draft, asked, { ...request, schema });
    onChange();
    const message = await answer.read(onDelta);
    const admitted = await withCallsAdmitted(message);
    if (signal.aborted) return draft.id;
    answer = undefined;
    thread.put(admitted);
    // where nothing follows, the end of the run is the one change to be seen
    if (admitted.outcome === "tool-calls") onChange();
    return draft.id;
  }

  async function withCallsAdmitted(message: ThreadMessage): Promise<ThreadMessage> {
    const { outcome, toolCalls } = message;
    if (outcome !== "tool-calls" || !toolCalls) return message;
    const tools = options().tools ?? [];
    return { ...message, toolCalls: await Promise.all(toolCalls.map((call) => admitCall(call, tools))) };
  }

  /** Runs all calls that may run, side by side, until none is left. Those that wait for somebody stay open. */
  async function settleCalls(id: string | undefined): Promise<void> {
    const running = new Map<string, Promise<void>>();
    for (;;) {
      for (const call of openCalls(id))
        if (call.state === "running" && !running.has(call.id))
          running.set(
            call.id,
            settleCall(id as string, call).finally(() => running.delete(call.id)),
          );
      if (running.size === 0 || signal.aborted) return;
      const changed = new Promise<void>((resolve) => {
        callChanged = resolve;
      });
      await Promise.race([changed, ...running.values()]);
    }
  }

  async function settleCall(id: string, call: ThreadToolCall): Promise<void> {
    const { tools = [] } = options();
    const settled = await runCall(call, tools, { clock: client.clock, signal, messages: thread.pathTo(id) });
    const message = thread.node(id)?.message;
    if (signal.aborted || !message) return;
    thread.put(withCall(message, settled));
    onChange();
  }

  function openCalls(id: string | undefined): readonly ThreadToolCall[] {
    const message = id === undefined ? undefined : thread.node(id)?.message;
    return message?.toolCalls?.filter(isOpen) ?? [];
  }

  function closeCalls(id: string | undefined, reason: string): void {
    const message = id === undefined ? undefined : thread.node(id)?.message;
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

/** The message with `call` in place of the one with its id. */
export function withCall(message: ThreadMessage, call: ThreadToolCall): ThreadMessage {
  return {
    ...message,
    toolCalls: message.toolCalls?.map((other) => (other.id === call.id ? call : other)) ?? [],
  };
}
