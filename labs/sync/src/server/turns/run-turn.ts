import { type Client, createClient, type Tool } from "@sluice/core";
import {
  type ChatStore,
  type ChatStoreOptions,
  type ChatTurn,
  createChatStore,
  customStorage,
} from "@sluice/stores";
import { type Job, type JobContext, type PluginServer, waitAtMost } from "@sluice/worker-proxy/plugin";
import type { Quota } from "../commit.js";
import {
  endRun,
  type Run,
  type RunEnd,
  readLease,
  readPath,
  readRun,
  renewLease,
  writeRun,
} from "./run-operations.js";
import type { TurnRequest } from "./serve-turns.js";
import { listCalls, type MessageValue } from "./turn-messages.js";
import type { TurnContext, TurnSetup } from "./turn-options.js";
import { type CallRow, LEASE_MS, STOPPED, type TurnEnd, type TurnReport } from "./turn-rows.js";
import { openTurnStorage, type TurnStorage } from "./turn-storage.js";

/** Pause between two renewals of a lease, and time limits of the last write and of a stopped chat, in milliseconds. */
const RENEW_MS = LEASE_MS / 4;
const WRITE_MS = 10_000;
const STOP_MS = 5_000;

/** Logs a failure of the operator's code or of the database, with its cause. */
type Log = (subject: string, error: unknown) => void;

/** Creates the job that runs a turn: the chat of `@sluice/stores`, over the records of the server. */
export function createRunTurn<Env>(
  setup: TurnSetup<Env>,
  quota: Quota,
  getServer: () => PluginServer<Env>,
): Job<Run> {
  return {
    name: "sync.turn.run",
    // a repeat could be billed again
    attempts: 1,
    async run(context, input) {
      const { host, key, env } = context;
      const log: Log = (subject, error) =>
        void getServer().log(`sync: turn ${input.turn}: ${subject}`, error, { env: env as Env });
      const row = await host.run(key, readRun, input);
      if (!row) return;
      const lease = holdLease(context, input, setup.timeoutMs, log);
      let end: RunEnd;
      try {
        end = await runTurn({ context, setup, getServer, quota, input, row, lease, log });
      } catch (error) {
        const { code, message, cause } =
          error instanceof AppFailure ? error : new AppFailure("turn_failed", error);
        log(message, cause);
        end = { state: "failed", code, message };
      } finally {
        lease.end();
      }
      if (!lease.isLost) await host.run(key, endRun, { ...input, end });
    },
  };
}

/** An exception in code of the operator. */
class AppFailure extends Error {
  readonly code: string;
  constructor(code: string, cause: unknown) {
    super(`the server's ${code.split("_", 1)[0]} failed`, { cause });
    this.code = code;
  }
}

type Lease = ReturnType<typeof holdLease>;

/**
 * Renews the lease of a run, and reads whether the turn is stopped. A run loses its lease if the database or the process
 * fails, or if another run takes over.
 */
function holdLease({ host, key, signal, subscribe }: JobContext, input: Run, timeoutMs: number, log: Log) {
  const controller = new AbortController();
  const lease = {
    /** Aborts when the turn is stopped or late, or when the lease is lost. */
    signal: controller.signal,
    /** True if another process may have ended the turn. */
    isLost: false,
    /** The end of a turn that was stopped; undefined before. */
    stopped: undefined as TurnEnd | undefined,
    abort: () => controller.abort(),
    /**
     * Renews the lease before a request or a tool call, which may cost money or have effects.
     *
     * @throws the reason of the signal if the turn does not belong to this run any more
     */
    async confirm() {
      await check(renewLease);
      controller.signal.throwIfAborted();
    },
    end() {
      isEnded = true;
      unsubscribe();
      clearInterval(timer);
      clearTimeout(timeout);
      signal.removeEventListener("abort", close);
    },
  };
  let isEnded = false;
  let renewedAt = performance.now();
  const stop = (end: TurnEnd) => {
    lease.stopped ??= end;
    controller.abort();
  };
  const fail = (code: string, message: string) => stop({ state: "failed", code, message });
  const check = async (operation: typeof renewLease | typeof readLease) => {
    const requestedAt = performance.now();
    try {
      const { isOwner, isStopped } = await host.run(key, operation, input);
      if (isEnded) return;
      if (!isOwner) lease.isLost = true;
      else if (operation === renewLease) renewedAt = requestedAt;
      if (isStopped) stop(STOPPED);
    } catch (error) {
      log("its lease could not be renewed", error);
      // the lease has expired, so another process may have ended the turn
      if (performance.now() - renewedAt > LEASE_MS) lease.isLost = true;
    }
    if (lease.isLost) controller.abort();
  };
  // also runs for each record that this turn writes
  const unsubscribe = subscribe(() => void check(readLease));
  const timer = setInterval(() => void check(renewLease), RENEW_MS);
  const timeout = setTimeout(fail, timeoutMs, "turn_timeout", `the turn took longer than ${timeoutMs} ms`);
  const close = () => fail("server_closed", "the server was shut down");
  signal.addEventListener("abort", close, { once: true });
  return lease;
}

/** Everything that the functions of one run need. */
interface RunParts<Env> {
  readonly context: JobContext;
  readonly setup: TurnSetup<Env>;
  readonly getServer: () => PluginServer<Env>;
  readonly quota: Quota;
  readonly input: Run;
  readonly row: TurnReport;
  readonly lease: Lease;
  readonly log: Log;
}

/** Runs a turn to its end, or to calls that wait for decisions. */
async function runTurn<Env>(parts: RunParts<Env>): Promise<RunEnd> {
  const { context, quota, input, row, lease, log } = parts;
  const { host, key } = context;
  const { tip } = row;
  const isFirst = tip === row.question;
  const path = await host.run(key, readPath, { collectionId: row.collection_id, tip });
  const last = path.at(-1);
  // a device deleted the newest record of the turn, or replaced it
  if (last?.record !== tip || (!isFirst && last.turn !== input.turn)) return createWriteEnd("record_deleted");
  // the calls of earlier responses have run already
  const calls = row.calls.filter(({ record }) => record === tip);
  const storage = openTurnStorage({
    ...{ turn: input.turn, path: cutPath(path), tip, calls },
    write: (writes) => host.run(key, writeRun, { ...input, writes, quota }),
    onFailure(error) {
      // a closing host ends its runs: this is not an error
      if (error !== undefined && !context.signal.aborted) log("a response could not be stored", error);
      lease.abort();
    },
  });
  const steps = path.filter(({ turn }) => turn === input.turn).length;
  const { chat, failures } = openChat(parts, storage, steps);
  try {
    const running = isFirst ? chat.retry() : decideCalls(chat, calls);
    const stopped = waitForAbort(lease.signal).then(() => {
      chat.stop();
      return waitAtMost(STOP_MS, running);
    });
    const turn = await Promise.race([running, stopped]);
    await waitAtMost(WRITE_MS, storage.waitFor(createStoredCheck(chat)));
    const [failure] = failures;
    if (failure) throw failure;
    if (storage.failure !== undefined) return createWriteEnd(storage.failure);
    if (lease.stopped) return lease.stopped;
    return turn ? createEnd(turn, chat) : STOPPED;
  } finally {
    chat.close();
  }
}

function waitForAbort(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", resolve, { once: true });
  });
}

/** Opens the chat of a run. Collects exceptions of the operator's code in `failures`. */
function openChat<Env>(
  { context, setup, getServer, input, row, lease, log }: RunParts<Env>,
  storage: TurnStorage,
  steps: number,
): { readonly chat: ChatStore; readonly failures: AppFailure[] } {
  const { model, options: params, user } = JSON.parse(row.request) as TurnRequest;
  const env = context.env as Env;
  const client = openClient(getServer(), user, env, lease);
  const turnContext: TurnContext<Env> = { env, user, collection: row.collection, client };
  const failures: AppFailure[] = [];
  const runOperatorCode = async <Result>(
    code: string,
    work: () => Result | Promise<Result>,
  ): Promise<Result> => {
    try {
      return await work();
    } catch (cause) {
      const failure = new AppFailure(code, cause);
      failures.push(failure);
      throw failure;
    }
  };
  const { instructions, prepareMessages, maxSteps } = setup;
  const options = {
    // the id names the locks of the chat, so no two runs may share it
    id: input.owner,
    storage: customStorage(storage),
    model,
    params,
    tools: createTools(setup, turnContext).map((tool) => guardTool(tool, lease, log)),
    maxSteps: Math.max(1, maxSteps - steps),
    ...(instructions !== undefined && {
      instructions: () =>
        runOperatorCode("instructions_failed", () =>
          typeof instructions === "function" ? instructions(turnContext) : instructions,
        ),
    }),
    ...(prepareMessages && {
      prepareMessages: ((messages, requestContext) =>
        runOperatorCode("messages_failed", () =>
          prepareMessages(messages, requestContext),
        )) satisfies typeof prepareMessages,
    }),
  };
  // the compiler can't follow the options of one model through a union
  return { chat: createChatStore(client, () => options as unknown as ChatStoreOptions), failures };
}

function createTools<Env>({ tools = [] }: TurnSetup<Env>, context: TurnContext<Env>): readonly Tool[] {
  try {
    return typeof tools === "function" ? tools(context) : tools;
  } catch (cause) {
    throw new AppFailure("tools_failed", cause);
  }
}

/** Runs a tool only while the run has its lease, and logs exceptions. The model gets the error, as in a page. */
function guardTool(tool: Tool, lease: Lease, log: Log): Tool {
  const { execute, name } = tool;
  if (!execute) return tool;
  return {
    ...tool,
    async execute(input, context) {
      await lease.confirm();
      try {
        return await execute(input, context);
      } catch (error) {
        if (!context.signal.aborted) log(`tool ${name} failed`, error);
        throw error;
      }
    },
  };
}

function openClient<Env>(
  server: PluginServer<Env>,
  user: TurnRequest["user"],
  env: Env,
  lease: Lease,
): Client {
  const { baseURL, fetch } = server.connectAs(user, env);
  return createClient({
    baseURL,
    async fetch(request) {
      await lease.confirm();
      return await fetch(request);
    },
    // keeps the user's texts out of the log
    onEvent: () => {},
  });
}

/** Applies the decisions of devices, one after the other. Returns the turn that continues. */
async function decideCalls(chat: ChatStore, calls: readonly CallRow[]): Promise<ChatTurn> {
  let turn: Promise<ChatTurn> | undefined;
  for (const { call, decision, detail } of calls) {
    const value: unknown = detail === null ? undefined : JSON.parse(detail);
    if (decision === "approve") turn = chat.approve(call);
    else if (decision === "deny") turn = chat.deny(call, ...(typeof value === "string" ? [value] : []));
    else turn = chat.addToolOutput(call, value ?? null);
    // the next decision needs the lock that this turn holds until its call is decided
    await Promise.race([turn, waitUntilDecided(chat, call)]);
  }
  return await (turn ?? chat.retry());
}

function waitUntilDecided(chat: ChatStore, call: string): Promise<void> {
  return new Promise((resolve) => {
    let unsubscribe = () => {};
    const check = () => {
      const { persistence, pendingActions } = chat.getSnapshot();
      if (persistence?.status === "restoring" || pendingActions.some(({ toolCallId }) => toolCallId === call))
        return;
      unsubscribe();
      resolve();
    };
    unsubscribe = chat.subscribe(check);
    check();
  });
}

/** Removes the messages before the first question of a truncated thread. */
function cutPath<Record extends { readonly value: string }>(path: readonly Record[]): readonly Record[] {
  const first = path.findIndex(({ value }) => (JSON.parse(value) as MessageValue).message.role === "user");
  const isCut = (JSON.parse(path[0]?.value ?? "{}") as Partial<MessageValue>).parent != null;
  return isCut && first > 0 ? path.slice(first) : path;
}

/** Creates a check that returns true once the stored value matches the newest message of the chat. */
function createStoredCheck(chat: ChatStore): (value: unknown) => boolean {
  const shown = chat.getSnapshot().messages.at(-1);
  const listStates = (calls: readonly { readonly state: string }[] = []) =>
    String(calls.map(({ state }) => state));
  return (value) => {
    if (shown?.role !== "assistant") return true;
    const stored = value as MessageValue | undefined;
    const isSame = stored?.message.outcome === shown.outcome;
    return isSame && listStates(stored && listCalls(stored)) === listStates(shown.toolCalls);
  };
}

/** Outcomes with which a turn is done. */
const DONE: readonly string[] = ["complete", "length", "content-filter", "step-limit"];

/** Converts the end of the chat's turn to the end of the run: the turn ends, or its calls wait. */
function createEnd({ outcome, error }: ChatTurn, chat: ChatStore): RunEnd {
  const { pendingActions } = chat.getSnapshot();
  if (outcome === "tool-calls" && pendingActions.length > 0)
    return pendingActions.map(({ toolCallId: call, messageId: record, name, type: wants }) => ({
      ...{ call, record, name, wants },
    }));
  if (outcome === "stopped") return STOPPED;
  if (DONE.includes(outcome))
    return { state: "done", code: outcome === "complete" ? null : outcome, message: null };
  const { code, name, message } = (error ?? {}) as { code?: unknown; name?: unknown; message?: unknown };
  return { state: "failed", code: String(code ?? name ?? outcome), message: String(message ?? outcome) };
}

function createWriteEnd(code: string): TurnEnd {
  return { state: "failed", code, message: `the response could not be stored: ${code}` };
}
