import { type Client, createClient, type Tool } from "@sluice/core";
import {
  type ChatStore,
  type ChatStoreOptions,
  type ChatTurn,
  createChatStore,
  customStorage,
} from "@sluice/stores";
import { connectAs, type JobContext } from "@sluice/worker-proxy/plugin";
import { job } from "../define.js";
import { listCalls, type MessageValue } from "./turn-messages.js";
import type { RunState, TurnOperations } from "./turn-operations.js";
import type { TurnContext, TurnSetup } from "./turn-options.js";
import { type CallRow, LEASE_MS, type TurnEnd, type TurnRequest } from "./turn-rows.js";
import { openTurnStorage, type TurnStorage } from "./turn-storage.js";

/** Reports a failure of the operator's code or of the database, with its cause. */
type Report = (subject: string, error: unknown, env: never) => void;

/** Pause between two renewals of a lease, and time limits of the last write and of a stopped chat, in milliseconds. */
const RENEW_MS = LEASE_MS / 4;
const WRITE_MS = 10_000;
const STOP_MS = 5_000;

type RunInput = { readonly turn: string; readonly owner: string };

/** Creates the job that runs a turn: the chat of `@sluice/stores`, over the records of the server. */
export function createRunTurn<Env>(setup: TurnSetup<Env>, operations: TurnOperations, report: () => Report) {
  return job("turn.run", 1, async (context, input: RunInput) => {
    const log = (subject: string, error: unknown) =>
      report()(`sync: turn ${input.turn}: ${subject}`, error, context.env as never);
    const run = await context.host.run(context.key, operations.readRun, input);
    if (!run) return;
    const lease = holdLease(context, operations, input, setup.timeoutMs, log);
    let end: TurnEnd | CallRow[] | undefined;
    try {
      end = await runTurn({ context, setup, operations, input, run, lease, log });
    } catch (error) {
      const failure = readAppFailure(error);
      log(failure.subject, failure.cause);
      end = { state: "failed", code: failure.code, message: failure.message };
    } finally {
      lease.end();
    }
    if (lease.isLost) return;
    const waits = Array.isArray(end);
    const ended = { end: waits ? null : (end as TurnEnd), calls: waits ? (end as CallRow[]) : [] };
    await context.host.run(context.key, operations.endRun, { ...input, ...ended });
  });
}

/** An exception in code of the operator. */
class AppFailure extends Error {
  readonly code: string;
  constructor(code: string, cause: unknown) {
    super(`the server's ${code.split("_", 1)[0]} failed`, { cause });
    this.code = code;
  }
}

function readAppFailure(error: unknown): { code: string; message: string; subject: string; cause: unknown } {
  if (error instanceof AppFailure)
    return { code: error.code, message: error.message, subject: error.message, cause: error.cause };
  const subject = "the turn could not run";
  return { code: "turn_failed", message: "the server could not run this turn", subject, cause: error };
}

/** The lease of a run. A run loses it if the database or the process fails, or if another run takes over. */
interface Lease {
  /** Aborts when the turn is stopped or late, or when the lease is lost. */
  readonly signal: AbortSignal;
  /** True if another process may have ended the turn. */
  readonly isLost: boolean;
  /** The end of a turn that was stopped; undefined before. */
  readonly stopped: TurnEnd | undefined;
  abort(): void;
  /**
   * Renews the lease before a request or a tool call, which may cost money or have effects.
   *
   * @throws the reason of the signal if the turn does not belong to this run any more
   */
  confirm(): Promise<void>;
  end(): void;
}

const STOPPED: TurnEnd = { state: "stopped", code: null, message: null };

/** Renews a lease, and reads whether the turn is stopped. */
function holdLease(
  { host, key, signal, subscribe }: JobContext,
  { renew, readLease }: TurnOperations,
  input: RunInput,
  timeoutMs: number,
  log: (subject: string, error: unknown) => void,
): Lease {
  const controller = new AbortController();
  let isLost = false;
  let isEnded = false;
  let stopped: TurnEnd | undefined;
  let renewedAt = performance.now();
  const stop = (end: TurnEnd) => {
    stopped ??= end;
    controller.abort();
  };
  const look = async (operation: typeof renew | typeof readLease) => {
    const askedAt = performance.now();
    try {
      const { isOwner, isStopped } = await host.run(key, operation, input);
      if (isEnded) return;
      if (!isOwner) isLost = true;
      else if (operation === renew) renewedAt = askedAt;
      if (isStopped) stop(STOPPED);
    } catch (error) {
      log("its lease could not be renewed", error);
      // the lease has expired, so another process may have ended the turn
      if (performance.now() - renewedAt > LEASE_MS) isLost = true;
    }
    if (isLost) controller.abort();
  };
  // records that this turn writes also call this
  const unsubscribe = subscribe(() => void look(readLease));
  const timer = setInterval(() => void look(renew), RENEW_MS);
  const late = setTimeout(
    () =>
      stop({ state: "failed", code: "turn_timeout", message: `the turn took longer than ${timeoutMs} ms` }),
    timeoutMs,
  );
  const close = () => stop({ state: "failed", code: "server_closed", message: "the server was shut down" });
  signal.addEventListener("abort", close, { once: true });
  return {
    signal: controller.signal,
    get isLost() {
      return isLost;
    },
    get stopped() {
      return stopped;
    },
    abort: () => controller.abort(),
    async confirm() {
      await look(renew);
      controller.signal.throwIfAborted();
    },
    end() {
      isEnded = true;
      unsubscribe();
      clearInterval(timer);
      clearTimeout(late);
      signal.removeEventListener("abort", close);
    },
  };
}

interface RunParts<Env> {
  readonly context: JobContext;
  readonly setup: TurnSetup<Env>;
  readonly operations: TurnOperations;
  readonly input: RunInput;
  readonly run: RunState;
  readonly lease: Lease;
  readonly log: (subject: string, error: unknown) => void;
}

/** Runs a turn to its end, or to calls that wait for decisions. */
async function runTurn<Env>(parts: RunParts<Env>): Promise<TurnEnd | CallRow[]> {
  const { context, operations, input, run, lease, log } = parts;
  const { host, key } = context;
  const { collectionId, tip, calls } = run;
  const isFirst = tip === run.question;
  const path = await host.run(key, operations.readPath, { collectionId, tip });
  const [last] = path.slice(-1);
  // a device deleted the newest record of the turn, or replaced it
  if (last?.record !== tip || (!isFirst && last.turn !== input.turn)) return createWriteEnd("record_deleted");
  const storage = openTurnStorage({
    ...{ turn: input.turn, path: cutPath(path), tip, calls },
    write: (writes) => host.run(key, operations.write, { ...input, writes }),
    onFailure(error) {
      // a closing host ends its runs: this is not an error
      if (error !== undefined && !context.signal.aborted) log("a response could not be stored", error);
      lease.abort();
    },
  });
  const steps = path.filter(({ turn }) => turn === input.turn).length;
  const { chat, failures } = openChat(parts, storage, steps);
  let late: ReturnType<typeof setTimeout> | undefined;
  let giveUp = (_: undefined) => {};
  const stopped = new Promise<undefined>((resolve) => {
    giveUp = resolve;
  });
  const stop = () => {
    chat.stop();
    late = setTimeout(giveUp, STOP_MS, undefined);
  };
  if (lease.signal.aborted) stop();
  else lease.signal.addEventListener("abort", stop, { once: true });
  try {
    const turn = await Promise.race([isFirst ? chat.retry() : decideCalls(chat, calls), stopped]);
    await within(WRITE_MS, storage.waitFor(matchShown(chat)));
    const [failure] = failures;
    if (failure) throw failure;
    if (storage.failure !== undefined) return createWriteEnd(storage.failure);
    if (lease.stopped) return lease.stopped;
    return turn ? createEnd(turn, chat) : STOPPED;
  } finally {
    lease.signal.removeEventListener("abort", stop);
    clearTimeout(late);
    chat.close();
  }
}

/** Opens the chat of a run. Collects exceptions of the operator's code in `failures`. */
function openChat<Env>(
  { context, setup, input, run, lease, log }: RunParts<Env>,
  storage: TurnStorage,
  steps: number,
): { readonly chat: ChatStore; readonly failures: AppFailure[] } {
  const { model, options: params, user } = JSON.parse(run.request) as TurnRequest;
  const env = context.env as Env;
  const client = openClient(setup, user, env, lease);
  const about: TurnContext<Env> = { env, user, collection: run.collection, client };
  const failures: AppFailure[] = [];
  const guard = async <Result>(code: string, work: () => Result | Promise<Result>): Promise<Result> => {
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
    tools: createTools(setup, about).map((tool) => guardTool(tool, lease, log)),
    maxSteps: Math.max(1, maxSteps - steps),
    ...(instructions !== undefined && {
      instructions: () =>
        guard("instructions_failed", () =>
          typeof instructions === "function" ? instructions(about) : instructions,
        ),
    }),
    ...(prepareMessages && {
      prepareMessages: ((messages, more) =>
        guard("messages_failed", () => prepareMessages(messages, more))) satisfies typeof prepareMessages,
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
function guardTool(tool: Tool, lease: Lease, log: (subject: string, error: unknown) => void): Tool {
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

function openClient<Env>(setup: TurnSetup<Env>, user: TurnRequest["user"], env: Env, lease: Lease): Client {
  const { baseURL, fetch } = connectAs(setup.proxy(), user, env);
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
    const look = () => {
      const { persistence, pendingActions } = chat.getSnapshot();
      if (persistence?.status === "restoring" || pendingActions.some(({ toolCallId }) => toolCallId === call))
        return;
      unsubscribe();
      resolve();
    };
    unsubscribe = chat.subscribe(look);
    look();
  });
}

/** Removes the messages before the first question of a truncated thread. */
function cutPath<Record extends { readonly value: string }>(path: readonly Record[]): readonly Record[] {
  const first = path.findIndex(({ value }) => (JSON.parse(value) as MessageValue).message.role === "user");
  const isCut = (JSON.parse(path[0]?.value ?? "{}") as Partial<MessageValue>).parent != null;
  return isCut && first > 0 ? path.slice(first) : path;
}

/** Creates a predicate that accepts a stored value once it matches the newest message of the chat. */
function matchShown(chat: ChatStore): (value: unknown) => boolean {
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

const DONE: readonly string[] = ["complete", "length", "content-filter", "step-limit"];

/** Returns the end of a turn of the chat, or the calls that wait. */
function createEnd({ outcome, error }: ChatTurn, chat: ChatStore): TurnEnd | CallRow[] {
  const { pendingActions } = chat.getSnapshot();
  if (outcome === "tool-calls" && pendingActions.length > 0)
    return pendingActions.map(({ toolCallId: call, messageId: record, name, type: wants }) => ({
      ...{ call, record, name, wants },
      ...{ decision: null, detail: null, account: null, device: null },
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

/** Waits for `work`, but at most `ms` milliseconds. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
