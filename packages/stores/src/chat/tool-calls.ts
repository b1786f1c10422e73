import {
  type Client,
  type Clock,
  TimeoutError,
  type Tool,
  type ToolContext,
  ValidationError,
} from "@sluice/core";
import { describeThrown, openSpan, parseJSON, rejectOnAbort } from "@sluice/core/internal";
import {
  type ChatMessage,
  type ChatToolCall,
  failed,
  problemOf,
  withCallsClosed,
  withOutput,
} from "./message.js";
import type { Thread } from "./thread.js";
import {
  checkedInput,
  createRunningCall,
  createToolReport,
  inputOf,
  type RunningCall,
  type ToolReport,
  withoutRun,
} from "./tool-run.js";

const UNFIT = { path: "", message: "the arguments do not fit the tool", rule: "tool.arguments" };

// loaded while the request of a chat with tools is out, or for an answer that calls one

/** The tool calls of one turn. */
export interface ToolCalls {
  /** Decides the next state of each call of a whole answer. */
  admit(message: ChatMessage): Promise<ChatMessage>;
  /** Runs all calls of an answer that may run, in parallel, until none is left. Others stay open. */
  settle(id: string): Promise<void>;
  /** Reports that a call was approved, denied or answered. */
  changed(): void;
  /** Ends the turn where another answer needs the user's consent: each one is billed. */
  endAtLimit(id: string, steps: number): void;
}

/** Parts of a turn that its calls need. */
export interface ToolCallsContext {
  readonly client: Client;
  readonly chatId: string | undefined;
  readonly thread: Thread;
  readonly tools: () => readonly Tool[] | undefined;
  /** Aborts when the turn ends: no call writes into the thread after it. */
  readonly signal: AbortSignal;
  readonly onChange: () => void;
  /** Writes the thread; undefined without a storage. */
  readonly written: () => Promise<unknown> | undefined;
}

/** Creates the tool calls of one turn. */
export function createToolCalls(context: ToolCallsContext): ToolCalls {
  const { client, chatId, thread, tools, signal, onChange } = context;
  const working = new Set<AbortController>();
  signal.addEventListener("abort", () => {
    for (const controller of working) controller.abort(signal.reason);
  });
  let runCalls = () => {};
  return { admit, settle, changed: () => runCalls(), endAtLimit };

  async function admit(message: ChatMessage): Promise<ChatMessage> {
    const { toolCalls = [] } = message;
    const from = { id: message.id, messages: thread.pathTo(message.id) };
    const act = toolCalls.every(isWholeCall) ? admitCall : refuseCall;
    return { ...message, toolCalls: await Promise.all(toolCalls.map((call) => work(act, call, from))) };
  }

  function endAtLimit(id: string, steps: number): void {
    const message = thread.node(id)?.message;
    if (signal.aborted || !message) return;
    const limit = `the limit of ${steps} answers in a row was reached`;
    thread.put({ ...withCallsClosed(message, `not run: ${limit}`), outcome: "step-limit" });
    client.warn({
      path: "maxSteps",
      message: `${limit}; retry() allows as many again`,
      rule: "chat.max-steps",
    });
  }

  function settle(id: string): Promise<void> {
    // by position, because a model may give two calls the same id
    const running = new Set<number>();
    let settled = new Map<number, ChatToolCall>();
    return new Promise((resolve) => {
      runCalls = () => {
        const from = { id, messages: thread.pathTo(id) };
        callsOf(id).forEach((call, place) => {
          if (call.state !== "running" || running.has(place)) return;
          running.add(place);
          void work(runCall, call, from, createRunningCall(context, id, place)).then((result) => {
            // calls that end together are one change
            if (settled.size === 0) queueMicrotask(showSettled);
            settled.set(place, result);
          });
        });
        if (running.size === 0 || signal.aborted) resolve();
      };
      runCalls();
    });

    function showSettled(): void {
      const toolCalls = callsOf(id).map((call, place) => {
        const ended = settled.get(place);
        return ended ? withoutRun(ended, call) : call;
      });
      for (const place of settled.keys()) running.delete(place);
      settled = new Map();
      const message = thread.node(id)?.message;
      if (message && !signal.aborted) {
        thread.put({ ...message, toolCalls });
        onChange();
      }
      runCalls();
    }
  }

  /**
   * Works on one call, under its own signal. A listener for each call on the turn's signal would cost quadratic time.
   */
  async function work(
    act: typeof runCall,
    call: ChatToolCall,
    { id: messageId, messages }: { readonly id: string; readonly messages: CallContext["messages"] },
    running?: RunningCall,
  ): Promise<ChatToolCall> {
    const { clock, warn } = client;
    const controller = new AbortController();
    working.add(controller);
    const { signal } = controller;
    const run = { name: call.name, toolCallId: call.id, chatId, messageId };
    const report = createToolReport(client, run);
    try {
      return await act(call, { tools: tools() ?? [], clock, warn, signal, messages, report, running });
    } catch (cause) {
      // the options of the app failed: the next request fails for the same reason, and ends the turn
      return failed(call, describeThrown(cause));
    } finally {
      working.delete(controller);
    }
  }

  function callsOf(id: string): readonly ChatToolCall[] {
    return thread.node(id)?.message.toolCalls ?? [];
  }
}

/** Context of a call that does not depend on its tool. */
interface CallContext extends Pick<ToolContext, "signal" | "messages"> {
  readonly tools: readonly Tool[];
  readonly clock: Clock;
  readonly warn: Client["warn"];
  readonly report: ToolReport;
  /** Absent while a call is only admitted. */
  readonly running?: RunningCall | undefined;
}

/** Decides the next state of a call with whole arguments: it runs, waits for the user or the app, or has failed. */
function admitCall(call: ChatToolCall, context: CallContext): Promise<ChatToolCall> {
  return withTool(call, context, async (tool, input, checked) => {
    if (await needsApproval(tool, input, context.warn)) return { ...checked, state: "needs-approval" };
    return { ...checked, state: tool.execute ? "running" : "needs-output" };
  });
}

/** Returns true if the arguments of a call are whole. A call may have none. */
function isWholeCall({ arguments: text }: ChatToolCall): boolean {
  return text.trim() === "" || parseJSON(text) !== undefined;
}

/** Refuses a call of an answer that has a call without whole arguments: the answer may have been cut there. */
function refuseCall(call: ChatToolCall, context: CallContext): Promise<ChatToolCall> {
  if (!isWholeCall(call)) return admitCall(call, context);
  const error = "not run: another call of this answer has arguments that are no JSON; call it again";
  return Promise.resolve({ ...call, state: "cancelled", error });
}

/** Asks the user also where the tool gives no clear answer: a call that runs by mistake can't be taken back. */
async function needsApproval(tool: Tool, input: unknown, warn: Client["warn"]): Promise<boolean> {
  let problem: string;
  try {
    const answer: unknown = await tool.needsApproval(input);
    if (typeof answer === "boolean") return answer;
    problem = `returned ${answer === null ? "null" : `a value of type ${typeof answer}`}, not true or false`;
  } catch (cause) {
    problem = `failed: ${describeThrown(cause)}`;
  }
  const message = `of the tool "${tool.name}" ${problem}; the call waits for the user`;
  warn({ path: "needsApproval", message, rule: "chat.tools.approval" });
  return true;
}

/** Runs a call to its end, or until `context.signal` aborts. Never rejects: the model gets the error. */
function runCall(call: ChatToolCall, context: CallContext): Promise<ChatToolCall> {
  const { messages, report, running } = context;
  return withTool(call, context, async (tool, input, checked, signal) => {
    if (!tool.execute || !running) return { ...checked, state: "needs-output" };
    report.start();
    return withOutput(
      checked,
      await tool.execute(input, { ...running, messages, signal, toolCallId: call.id }),
    );
  });
}

/**
 * Checks the arguments of a call, which another tab may have left, and runs its tool, both within the time limit of the
 * tool.
 */
async function withTool(
  call: ChatToolCall,
  { tools, clock, signal, report }: CallContext,
  run: (tool: Tool, input: unknown, call: ChatToolCall, signal: AbortSignal) => Promise<ChatToolCall>,
): Promise<ChatToolCall> {
  const tool = tools.find(({ name }) => name === call.name);
  if (!tool) {
    const names = tools.map(({ name }) => name).join(", ");
    return failed(call, `there is no tool "${call.name}"; there ${names ? `are: ${names}` : "are none"}`);
  }
  const { timeoutMs } = tool;
  const span = openSpan(
    clock,
    signal,
    timeoutMs,
    () => new TimeoutError(`no result after ${timeoutMs} ms`, "total"),
  );
  let known = call;
  let isChecked = false;
  const work = async () => {
    const input = inputOf(call);
    known = { ...call, input };
    const checked = await checkedInput(tool, input);
    // a storage needs JSON, and the output of a schema may be any value
    if (!problemOf(checked)) known = { ...call, input: checked };
    isChecked = true;
    // a slow check may be over after the chat was stopped
    span.signal.throwIfAborted();
    return run(tool, checked, known, span.signal);
  };
  try {
    const next = await rejectOnAbort(work(), span.signal);
    if (next.state === "done") report.end("done");
    if (next.state === "failed") report.end("failed", new Error("the output of the tool has no JSON"));
    return next;
  } catch (cause) {
    if (tool.execute) reportFailure(cause);
    return failed(known, describeThrown(cause));
  } finally {
    span.end();
  }

  function reportFailure(cause: unknown): void {
    if (signal.aborted) report.cancel();
    else if (span.signal.aborted || isChecked) report.end("failed", cause);
    // the words of a schema may quote the arguments
    else report.end("failed", new ValidationError([UNFIT]));
  }
}
