import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { type Client, isGatewayError, type RecordStorage } from "@sluice/core";
import { canReplay, describeThrown, isRecord, rejectOnAbort } from "@sluice/core/extend";
import { fileStorage } from "@sluice/stores/node";
import { makeFolder } from "../base/make-folder.js";
import { NotSent } from "../base/not-sent.js";
import type { Input, Result, Tool } from "../base/tool.js";

/** A paid call in the ledger. A call without a result may be billed. */
interface Call {
  /** Hash of the gateway, the tool and its arguments. */
  readonly request: string;
  /** Time at which the call was first sent, in Unix milliseconds. */
  readonly sentAt: number;
  /** Result of a call that succeeded. */
  readonly result?: Result;
}

/** The calls of a ledger, by key. */
type Calls = ReadonlyMap<string, Call>;

/** A paid call in progress in this process. */
interface RunningCall {
  readonly request: string;
  /** Aborts when the caller cancels. */
  readonly signal: AbortSignal;
  readonly result: Promise<Result>;
}

/** State that all servers with the same client and folder share. */
interface SharedState {
  readonly storage: Pick<RecordStorage, "read" | "write" | "lock">;
  readonly running: Map<string, RunningCall>;
}

/** A request for a paid call. */
interface PaidRequest {
  readonly tool: string;
  /** Feature of a proxy that stores the keys of this tool. */
  readonly feature: NonNullable<Tool["paid"]>;
  readonly input: Input;
  readonly signal: AbortSignal;
}

/** Name of the ledger in the folder. */
const LEDGER = "sluice-calls.jsonl";
const COLLECTION = "calls";
/** Maximum number of calls in the ledger. */
const MAX_CALLS = 1000;
/** Time between two attempts to lock a call of another process, in milliseconds. */
const RETRY_MS = 1000;

/** An HTTP endpoint creates a server for each request, so the state belongs to the client. */
const sharedStates = new WeakMap<Client, Map<string, SharedState>>();

function getSharedState(client: Client, folder: string | undefined): SharedState {
  const known = sharedStates.get(client) ?? new Map<string, SharedState>();
  sharedStates.set(client, known);
  const path = folder === undefined ? "" : join(resolve(folder), LEDGER);
  const state = known.get(path) ?? {
    storage: path ? fileStorage(path) : createMemoryStorage(),
    running: new Map(),
  };
  known.set(path, state);
  return state;
}

/** Creates a storage in memory. Unlike `memoryStorage`, it does not parse all records for each read. */
function createMemoryStorage(): SharedState["storage"] {
  const records = new Map<string, unknown>();
  return {
    read: async () => records,
    async write(_, changes) {
      for (const [key, record] of changes) {
        if (record === undefined) records.delete(key);
        else records.set(key, record);
      }
    },
  };
}

/**
 * Records the paid calls, to pay for each call once. Each call is written to the ledger in the folder before it is sent:
 * other processes find it there, even if this process is killed. Without a folder, the ledger is in memory.
 *
 * A call with a known key gets the result of the first call. A call that may be billed is sent again under its key only
 * if a proxy still stores the key. The same holds for an equal call without a key.
 */
export function createPaidCalls(client: Client, folder: string | undefined) {
  const { storage, running } = getSharedState(client, folder);

  /**
   * Sends a call unless the ledger contains it. `send` gets the key. `wasSent` is true if the gateway may have the
   * request.
   */
  return async function run(
    { tool, feature, input, signal }: PaidRequest,
    send: (key: string) => Promise<Result>,
    wasSent: () => boolean,
  ): Promise<Result> {
    const { idempotency_key, ...fields } = input;
    const givenKey = readKey(idempotency_key);
    const request = computeHash(JSON.stringify([client.baseURL, tool, sortKeys(fields)]));
    for (;;) {
      signal.throwIfAborted();
      // fail here for a damaged ledger, before anything is written to it
      const calls = await read();
      const key = givenKey ?? findUnconfirmed(calls, request) ?? crypto.randomUUID();
      const runningCall = running.get(key);
      if (!runningCall) return start(key, calls);
      if (runningCall.request !== request) throw new NotSent(KEY_IN_USE);
      if (!runningCall.signal.aborted) return rejectOnAbort(runningCall.result, signal);
      // a cancelled call: wait for its end, then the ledger says if it may be billed
      const settled = runningCall.result.catch(() => {});
      await rejectOnAbort(settled, signal);
    }

    function start(key: string, calls: Calls): Promise<Result> {
      const result = sendOnce(key, calls).finally(() => running.delete(key));
      running.set(key, { request, signal, result });
      return result;
    }

    async function sendOnce(key: string, callsBefore: Calls): Promise<Result> {
      // without a folder, only this process uses the memory
      const lock = folder === undefined ? undefined : await lockCall(key, signal);
      const write = lock?.write ?? storage.write;
      try {
        const calls = lock ? await read() : callsBefore;
        const known = calls.get(key);
        if (known && known.request !== request) throw new NotSent(KEY_IN_USE);
        if (known?.result) return known.result;
        if (known && !(await canRepeat(known))) throw new NotSent(MAY_BE_BILLED);
        const call: Call = { request, sentAt: known?.sentAt ?? Date.now() };
        await record(new Map([...listRemovals(calls, key), [key, call]]), write);
        const result = await send(key).catch(async (error) => {
          // an earlier attempt with this key may be billed, whatever this attempt did
          if (!known && !mayBeBilled(error, wasSent)) await record(new Map([[key, undefined]]), write);
          throw error;
        });
        // the result is paid: return it even if the disk is full; a repetition is then refused
        await write(COLLECTION, new Map([[key, { ...call, result }]])).catch(() => {});
        return result;
      } finally {
        await lock?.release();
      }
    }

    /** Returns true if the proxy certainly replays the first response. An unavailable proxy may not. */
    function canRepeat({ sentAt }: Call): Promise<boolean> {
      return canReplay(client, feature, sentAt).catch(() => false);
    }
  };

  /** Finds the key of a call with the same arguments that may be billed. */
  function findUnconfirmed(calls: Calls, request: string): string | undefined {
    const isRunning = (key: string) => running.get(key)?.signal.aborted === false;
    const isUnconfirmed = ([key, call]: [string, Call]) =>
      call.request === request && !call.result && !isRunning(key);
    return [...calls].find(isUnconfirmed)?.[0];
  }

  async function read(): Promise<Calls> {
    const records = await useLedger(async () => {
      if (folder !== undefined) await makeFolder(folder);
      return storage.read(COLLECTION);
    });
    return new Map([...records].map(([key, value]) => [key, readCall(value)]));
  }

  function record(
    changes: ReadonlyMap<string, Call | undefined>,
    write: RecordStorage["write"],
  ): Promise<void> {
    return useLedger(() => write(COLLECTION, changes));
  }

  /** Locks a call. Waits while another process works on it. */
  async function lockCall(key: string, signal: AbortSignal) {
    for (;;) {
      const lock = await useLedger(async () => storage.lock?.(`${COLLECTION}/${key}`));
      if (lock || !storage.lock) return lock;
      await client.clock.sleep(RETRY_MS, signal);
      signal.throwIfAborted();
    }
  }
}

const KEY_IN_USE =
  "Nothing was sent: this idempotency_key belongs to another call. Choose a new one for each call.";
const MAY_BE_BILLED =
  "Nothing was sent: an earlier call with the same arguments may have been billed, and its outcome is unknown. Tell the user, who can look at the account. If the user wants to pay again, call with a new idempotency_key.";

/** Reads or writes the ledger. If that fails, nothing is sent. */
async function useLedger<Value>(act: () => Promise<Value>): Promise<Value> {
  try {
    return await act();
  } catch (cause) {
    const reason = describeThrown(cause);
    throw new NotSent(`Nothing was sent: the record of paid calls failed: ${reason}. Tell the user.`, {
      cause,
    });
  }
}

/**
 * Reads the key of a call.
 *
 * @throws {NotSent} for an invalid key: without a valid key, a repeated call would be paid again
 */
function readKey(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given === "string" && /^[!-~]{8,255}$/.test(given)) return given;
  throw new NotSent(
    `Nothing was sent: idempotency_key must be a text of 8 to 255 ASCII letters, digits and signs without spaces, such as "${crypto.randomUUID()}", got ${JSON.stringify(given)}. Leave it out, or choose one at random.`,
  );
}

/** Lists the call that a new call replaces in a full ledger: the oldest with a result, or else the oldest. */
function listRemovals(calls: Calls, key: string): [string, undefined][] {
  if (calls.size < MAX_CALLS || calls.has(key)) return [];
  const byAge = [...calls].toSorted(([, a], [, b]) => a.sentAt - b.sentAt);
  const oldest = byAge.find(([, { result }]) => result) ?? byAge[0];
  return oldest ? [[oldest[0], undefined]] : [];
}

/** Reads a record. A damaged record becomes a call with unknown arguments, whose key is never sent again. */
function readCall(value: unknown): Call {
  const { request, sentAt, result } = isRecord(value) ? value : {};
  if (typeof request !== "string" || typeof sentAt !== "number") return { request: "", sentAt: 0 };
  const isWhole = isRecord(result) && Array.isArray(result["content"]);
  return { request, sentAt, ...(isWhole && { result: result as unknown as Result }) };
}

/** Checks if the gateway may have acted on a failed call. */
export function mayBeBilled(error: unknown, wasSent: () => boolean): boolean {
  if (!isGatewayError(error)) return wasSent();
  return error.billing === "maybe" || (error.billing === undefined && wasSent());
}

function computeHash(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}

/** Sorts the keys of objects, so that equal arguments have equal JSON. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([key, field]) => [key, sortKeys(field)]));
}
