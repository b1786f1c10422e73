import {
  type Client,
  type Clock,
  TimeoutError,
  type Tool,
  type ToolContext,
  ValidationError,
} from "@sluice/core";
import { describeThrown, openSpan, parseJSON, rejectOnAbort } from "@sluice/core/extend";
import { type Chat, type ReadOptions, refresh } from "./chat.js";
import { type ChatMessage, type ChatToolCall, closeToolCalls } from "./message.js";
import {
  addOutput,
  type CallControls,
  checkInput,
  createCallControls,
  createToolReport,
  failCall,
  findJSONProblem,
  finishCall,
  parseInput,
  type ToolReport,
} from "./tool-run.js";

const SCHEMA_MISMATCH = { path: "", message: "the arguments do not fit the tool", rule: "tool.arguments" };

/** The tool calls of one turn. */
export type ToolCalls = ReturnType<typeof createToolCalls>;

/**
 * Creates the tool calls of one turn.
 *
 * @param signal aborts when the turn ends. After that, no call writes into the thread
 */
export function createToolCalls(chat: Chat, readOptions: ReadOptions, signal: AbortSignal) {
  const { client, id: chatId, thread } = chat;
  const controllers = new Set<AbortController>();
  signal.addEventListener("abort", () => {
    for (const controller of controllers) controller.abort(signal.reason);
  });
  let runCalls = () => {};
  return {
    admit,
    runAll,
    /** Called when a call was approved or denied, or got its output. */
    noteChange: () => runCalls(),
    endAtLimit,
  };

  /** Checks each call of a complete response, and sets its next state. */
  async function admit(message: ChatMessage): Promise<ChatMessage> {
    const { toolCalls = [] } = message;
    const source = { id: message.id, messages: thread.getPath(message.id) };
    const isWhole = toolCalls.every(isCompleteCall);
    const admitted = toolCalls.map((call) =>
      isWhole || !isCompleteCall(call) ? processCall(admitCall, call, source) : cancelCall(call),
    );
    return { ...message, toolCalls: await Promise.all(admitted) };
  }

  /** Closes the open calls of a response that reached the limit of responses. Each response is billed. */
  function endAtLimit(id: string, steps: number): void {
    const message = thread.get(id)?.message;
    if (signal.aborted || !message) return;
    const limit = `the limit of ${steps} responses in a row was reached`;
    thread.put({ ...closeToolCalls(message, `not run: ${limit}`), outcome: "step-limit" });
    client.warn({
      path: "maxSteps",
      message: `${limit}; retry() allows as many again`,
      rule: "chat.max-steps",
    });
  }

  /** Runs the allowed calls of a response in parallel, until all have ended. Other calls stay open. */
  function runAll(id: string): Promise<void> {
    // by position, because a model may give two calls the same id
    const running = new Set<number>();
    let ended = new Map<number, ChatToolCall>();
    return new Promise((resolve) => {
      runCalls = () => {
        const source = { id, messages: thread.getPath(id) };
        listCalls(id).forEach((call, index) => {
          if (call.state !== "running" || running.has(index)) return;
          running.add(index);
          const controls = createCallControls(chat, signal, id, index);
          void processCall(runCall, call, source, controls).then((result) => {
            // calls that end together are one change
            if (ended.size === 0) queueMicrotask(showEnded);
            ended.set(index, result);
          });
        });
        if (running.size === 0 || signal.aborted) resolve();
      };
      runCalls();
    });

    function showEnded(): void {
      const toolCalls = listCalls(id).map((call, index) => {
        const result = ended.get(index);
        return result ? finishCall(result, call) : call;
      });
      for (const index of ended.keys()) running.delete(index);
      ended = new Map();
      const message = thread.get(id)?.message;
      if (message && !signal.aborted) {
        thread.put({ ...message, toolCalls });
        refresh(chat);
      }
      runCalls();
    }
  }

  /**
   * Runs `process` on one call with its own signal. One listener per call on the turn's signal would cost quadratic time.
   */
  async function processCall(
    process: typeof runCall,
    call: ChatToolCall,
    { id: messageId, messages }: { readonly id: string; readonly messages: CallContext["messages"] },
    controls?: CallControls,
  ): Promise<ChatToolCall> {
    const { clock, warn } = client;
    const controller = new AbortController();
    controllers.add(controller);
    const { signal } = controller;
    const run = { name: call.name, toolCallId: call.id, chatId, messageId };
    const report = createToolReport(client, run);
    try {
      const { tools = [] } = readOptions();
      return await process(call, { tools, clock, warn, signal, messages, report, controls });
    } catch (cause) {
      // the options of the app failed: the next request fails for the same reason, and ends the turn
      return failCall(call, describeThrown(cause));
    } finally {
      controllers.delete(controller);
    }
  }

  function listCalls(id: string): readonly ChatToolCall[] {
    return thread.get(id)?.message.toolCalls ?? [];
  }
}

/** The parts of a call's context that do not depend on its tool. */
interface CallContext extends Pick<ToolContext, "signal" | "messages"> {
  readonly tools: readonly Tool[];
  readonly clock: Clock;
  readonly warn: Client["warn"];
  readonly report: ToolReport;
  /** Absent while a call is checked, before it runs. */
  readonly controls?: CallControls | undefined;
}

/** Sets the next state of a call with complete arguments: it runs, waits for the user or the app, or has failed. */
function admitCall(call: ChatToolCall, context: CallContext): Promise<ChatToolCall> {
  return withTool(call, context, async (tool, input, checked) => {
    if (await needsApproval(tool, input, context.warn)) return { ...checked, state: "needs-approval" };
    return { ...checked, state: tool.execute ? "running" : "needs-output" };
  });
}

/** Returns true if the arguments of a call are complete. A call may have no arguments. */
function isCompleteCall({ arguments: text }: ChatToolCall): boolean {
  return text.trim() === "" || parseJSON(text) !== undefined;
}

/** Cancels a call of a response with incomplete arguments, because the response may have been truncated there. */
function cancelCall(call: ChatToolCall): ChatToolCall {
  const error = "not run: another call of this message has arguments that are not JSON; call it again";
  return { ...call, state: "cancelled", error };
}

/** Returns true unless the tool clearly needs no approval, because a call that ran by mistake can't be undone. */
async function needsApproval(tool: Tool, input: unknown, warn: Client["warn"]): Promise<boolean> {
  let problem: string;
  try {
    const result: unknown = await tool.needsApproval(input);
    if (typeof result === "boolean") return result;
    problem = `returned ${result === null ? "null" : `a value of type ${typeof result}`}, not true or false`;
  } catch (cause) {
    problem = `failed: ${describeThrown(cause)}`;
  }
  const message = `of the tool "${tool.name}" ${problem}; the call waits for the user`;
  warn({ path: "needsApproval", message, rule: "chat.tools.approval" });
  return true;
}

/** Runs a call to its end, or until `context.signal` aborts. Never rejects: the model gets the error. */
function runCall(call: ChatToolCall, context: CallContext): Promise<ChatToolCall> {
  const { messages, report, controls } = context;
  return withTool(call, context, async (tool, input, checked, signal) => {
    if (!tool.execute || !controls) return { ...checked, state: "needs-output" };
    report.start();
    return addOutput(
      checked,
      await tool.execute(input, { ...controls, messages, signal, toolCallId: call.id }),
    );
  });
}

/**
 * Checks the arguments of a call, which may come from another tab, and gives them to `run` with the tool. Both together
 * have the time limit of the tool.
 */
async function withTool(
  call: ChatToolCall,
  { tools, clock, signal, report }: CallContext,
  run: (tool: Tool, input: unknown, call: ChatToolCall, signal: AbortSignal) => Promise<ChatToolCall>,
): Promise<ChatToolCall> {
  const tool = tools.find(({ name }) => name === call.name);
  if (!tool) {
    const names = tools.map(({ name }) => name).join(", ");
    return failCall(call, `there is no tool "${call.name}"; there ${names ? `are: ${names}` : "are none"}`);
  }
  const { timeoutMs } = tool;
  const span = openSpan(
    clock,
    signal,
    timeoutMs,
    () => new TimeoutError(`no result after ${timeoutMs} ms`, "total"),
  );
  let latest = call;
  let isChecked = false;
  const checkAndRun = async () => {
    const input = parseInput(call);
    latest = { ...call, input };
    const checked = await checkInput(tool, input);
    // a storage needs JSON, but the output of a schema may be any value
    if (!findJSONProblem(checked)) latest = { ...call, input: checked };
    isChecked = true;
    // the chat may have been stopped during a slow check
    span.signal.throwIfAborted();
    return run(tool, checked, latest, span.signal);
  };
  try {
    const next = await rejectOnAbort(checkAndRun(), span.signal);
    if (next.state === "done") report.end("done");
    if (next.state === "failed") report.end("failed", new Error("the output of the tool has no JSON"));
    return next;
  } catch (cause) {
    if (tool.execute) reportFailure(cause);
    return failCall(latest, describeThrown(cause));
  } finally {
    span.end();
  }

  function reportFailure(cause: unknown): void {
    if (signal.aborted) report.cancel();
    else if (span.signal.aborted || isChecked) report.end("failed", cause);
    // the error of a schema may quote the arguments
    else report.end("failed", new ValidationError([SCHEMA_MISMATCH]));
  }
}
