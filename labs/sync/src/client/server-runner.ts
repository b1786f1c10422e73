import { ConfigurationError } from "@sluice/core";
import { type ChatRunner, customRunner, type TurnRunner } from "@sluice/stores";
import { addUserPrefix } from "@sluice/stores/extend";
import { isObject, isText } from "./json.js";
import { findRemote, type Remote } from "./remotes.js";
import { SyncError } from "./sync-error.js";

type RunnerTurn = Parameters<TurnRunner["run"]>[0];

/** Options of {@link serverRunner}. */
export interface ServerRunnerOptions {
  /** Name of this device. It is stored with each decision. @default none */
  readonly device?: string | undefined;
}

const STATES = ["running", "waiting", "done", "stopped", "failed"] as const;

/** State of a turn on the server. */
interface TurnState {
  readonly state: (typeof STATES)[number];
  readonly code?: string;
  readonly message?: string;
}

/** Time without a change before the client requests the state of the turn, in milliseconds. */
const SILENCE_MS = 10_000;
/** Time between two attempts after a temporary failure, in milliseconds. */
const RETRY_MS = 2000;
/** Time limit for all attempts of one request, in milliseconds. */
const ATTEMPT_MS = 30_000;

/**
 * Runs the turns of a chat on the server. A turn continues after all pages are closed. The chat needs an `id` and a
 * `remoteStorage`. The server uses its own instructions and tools. It runs only tool calls from its own requests to the
 * model. A call of a tool that the server cannot run waits for `addToolOutput`.
 *
 * @example
 * ```ts
 * const storage = remoteStorage(client);
 * const chat = createChatStore(client, { id: "trip", model: "delta-5.3", storage, runner: serverRunner() });
 * ```
 */
export function serverRunner(options: ServerRunnerOptions = {}): ChatRunner {
  return customRunner(createServerRunner(options));
}

/** Creates the runner without the code of chats. */
export function createServerRunner({ device }: ServerRunnerOptions): TurnRunner {
  return {
    async run(turn, { signal }) {
      const remote = getRemote(turn);
      const collection = `chat/${turn.chatId}`;
      // the server reads the question from its own storage, so send it first
      await remote.storage.sync(collection);
      signal.throwIfAborted();
      const { id, question, model, params } = turn;
      const start = { turn: id, collection, question, model, options: params };
      try {
        let report = await repeat(turn, signal, () => post(remote, "start", start, signal));
        while (report.state === "running") {
          await waitForChange(turn, signal);
          report = await repeat(turn, signal, () => post(remote, "state", { turn: id }, signal));
        }
        // the last records may arrive after the report
        await remote.storage.sync(collection);
        return toTurnResult(report);
      } catch (error) {
        // the turn may be running: a retry finds it by its id
        if (error instanceof SyncError && error.kind === "temporary") return { outcome: "truncated", error };
        throw error;
      }
    },
    async stop(turn) {
      const { signal } = new AbortController();
      const body = { turn: turn.id };
      // the server may get the start after the stop
      await repeat(turn, signal, () => post(getRemote(turn), "stop", body, signal), "unknown_turn");
    },
    async decide(turn, { messageId: record, toolCallId: call, type: decision, ...detail }) {
      const { signal } = new AbortController();
      const body = { turn: turn.id, record, call, decision, ...detail, device };
      try {
        await repeat(turn, signal, () => post(getRemote(turn), "decide", body, signal));
      } catch (error) {
        // another device has decided
        if (!(error instanceof SyncError) || error.code !== "not_waiting") throw error;
      }
    },
  };
}

function getRemote({ storage, chatId }: RunnerTurn): Remote {
  const remote = storage && findRemote(storage);
  if (remote && chatId !== undefined) return remote;
  throw new ConfigurationError(
    "runner: serverRunner() needs a chat with `id` and a `storage` of remoteStorage()",
  );
}

function post(remote: Remote, action: string, body: object, signal: AbortSignal): Promise<TurnState> {
  return remote.post(`turns/${action}`, body, parseState, signal);
}

/**
 * Repeats an attempt after a temporary failure. The server recognizes the turn by its id, so the turn runs once.
 *
 * @param temporaryCode error code that also counts as temporary; by default, another turn of the collection has not ended
 */
async function repeat<T>(
  { client }: RunnerTurn,
  signal: AbortSignal,
  attempt: () => Promise<T>,
  temporaryCode = "turn_in_progress",
): Promise<T> {
  const { clock } = client;
  const deadline = clock.now() + ATTEMPT_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof SyncError)) throw error;
      const isTemporary = error.kind === "temporary" || error.code === temporaryCode;
      const waitMs = Math.max(RETRY_MS, error.retryAfterMs ?? 0);
      if (!isTemporary || clock.now() + waitMs > deadline) throw error;
      await clock.sleep(waitMs, signal);
    }
  }
}

/** Waits until a message of the turn has ended, or nothing has changed in the chat for 10 s. */
async function waitForChange(
  { id, client, storage, chatId }: RunnerTurn,
  signal: AbortSignal,
): Promise<void> {
  let changes = 0;
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const stop = storage?.subscribe(addUserPrefix(client, `chat/${chatId}`), (records) => {
    changes += 1;
    if ([...records.values()].some((record) => isTurnEnd(id, record))) end();
  });
  const waiting = new AbortController();
  const abort = () => waiting.abort(signal.reason);
  signal.addEventListener("abort", abort);
  const waitForSilence = async () => {
    for (let seenChanges = -1; seenChanges !== changes; ) {
      seenChanges = changes;
      await client.clock.sleep(SILENCE_MS, waiting.signal);
    }
  };
  try {
    await Promise.race([ended, waitForSilence()]);
  } finally {
    signal.removeEventListener("abort", abort);
    waiting.abort(null);
    stop?.();
  }
}

/** Returns true for a finished message of a turn. */
function isTurnEnd(turn: string, record: unknown): boolean {
  return (
    isObject(record) &&
    record["turn"] === turn &&
    isObject(record["message"]) &&
    record["message"]["outcome"] !== undefined
  );
}

function toTurnResult({
  state,
  code = "turn_failed",
  message = code,
}: TurnState): Awaited<ReturnType<TurnRunner["run"]>> {
  switch (state) {
    case "failed":
      return { outcome: "error", error: new SyncError("request", code, message) };
    case "stopped":
      return { outcome: "stopped" };
    case "waiting":
      return { outcome: "tool-calls" };
    default:
      return {};
  }
}

function parseState(json: Record<string, unknown>): TurnState | undefined {
  const { code, message } = json;
  const state = STATES.find((known) => known === json["state"]);
  if (state === undefined) return undefined;
  return { state, ...(isText(code) && { code }), ...(isText(message) && { message }) };
}
