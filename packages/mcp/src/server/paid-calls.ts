import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { type Client, isGatewayError, type RecordStorage } from "@sluice/core";
import { describeThrown, hasOffer, isRemembered, rejectOnAbort } from "@sluice/core/internal";
import { fileStorage } from "@sluice/stores/node";
import { isRecord } from "../base/is-record.js";
import { makeFolder } from "../base/make-folder.js";
import { NotSent } from "../base/not-sent.js";
import type { Input, Result } from "../base/tool.js";

/** One paid call in the ledger. A call without a result may be billed. */
interface Call {
  /** Hash of the gateway, the tool and its arguments. */
  readonly request: string;
  /** Time at which the call was first sent, in Unix milliseconds. */
  readonly sentAt: number;
  /** Result of a call that succeeded. */
  readonly result?: Result;
}

/** The calls of a ledger, by their keys. */
type Calls = ReadonlyMap<string, Call>;

/** A paid call that runs in this process. */
interface RunningCall {
  readonly request: string;
  /** Aborts when the caller cancels. */
  readonly signal: AbortSignal;
  readonly result: Promise<Result>;
}

/** The memory that all servers with the same client and folder share. */
interface Memory {
  readonly storage: Pick<RecordStorage, "read" | "write" | "lock">;
  readonly running: Map<string, RunningCall>;
}

/** One request for a paid call. */
interface PaidRequest {
  readonly tool: string;
  /** Offer of a proxy that remembers the keys of this tool. */
  readonly offer: string;
  readonly input: Input;
  readonly signal: AbortSignal;
}

/** Name of the ledger in the folder. */
const LEDGER = "sluice-calls.jsonl";
const COLLECTION = "calls";
/** Number of calls that the ledger remembers. */
const MOST = 1000;
/** Time between two looks at a call of another process, in milliseconds. */
const AGAIN_MS = 1000;
/** Time for which a proxy surely remembers a streamed chat, in milliseconds: ten minutes after its end, less one. */
const CHAT_MS = 9 * 60_000;

/** An HTTP endpoint creates a server for each request, so the memory belongs to the client. */
const memories = new WeakMap<Client, Map<string, Memory>>();

function memoryOf(client: Client, folder: string | undefined): Memory {
  const known = memories.get(client) ?? new Map<string, Memory>();
  memories.set(client, known);
  const path = folder === undefined ? "" : join(resolve(folder), LEDGER);
  const memory = known.get(path) ?? { storage: path ? fileStorage(path) : inMemory(), running: new Map() };
  known.set(path, memory);
  return memory;
}

/** A storage in memory. Unlike `memoryStorage` it does not parse all records for each read. */
function inMemory(): Memory["storage"] {
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
 * Remembers the paid calls, so that no call is paid twice. The ledger in the folder has a record of each call before it is
 * sent: a process that is killed, and other processes, find it there. Without a folder the record is in memory.
 *
 * A call with a known key gets the result of the first call. A call that may be billed is sent again, under its key, only
 * where a proxy surely remembers the key. This holds for the same call without a key, too.
 */
export function createPaidCalls(client: Client, folder: string | undefined) {
  const { storage, running } = memoryOf(client, folder);

  /** Sends a call, unless the ledger knows it. `send` gets the key; `wasSent` is true if the gateway may have the request. */
  return async function run(
    { tool, offer, input, signal }: PaidRequest,
    send: (key: string) => Promise<Result>,
    wasSent: () => boolean,
  ): Promise<Result> {
    const { idempotency_key, ...fields } = input;
    const given = readKey(idempotency_key);
    const request = hashOf(JSON.stringify([client.baseURL, tool, sorted(fields)]));
    for (;;) {
      signal.throwIfAborted();
      // a file that is no ledger is an error here, before anything is written to it
      const calls = await read();
      const key = given ?? findLost(calls, request) ?? crypto.randomUUID();
      const other = running.get(key);
      if (!other) return start(key, calls);
      if (other.request !== request) throw new NotSent(OTHER);
      if (!other.signal.aborted) return rejectOnAbort(other.result, signal);
      // its caller has cancelled it: the ledger then says if it may be billed
      await rejectOnAbort(
        other.result.catch(() => {}),
        signal,
      );
    }

    function start(key: string, calls: Calls): Promise<Result> {
      const result = attempt(key, calls).finally(() => running.delete(key));
      running.set(key, { request, signal, result });
      return result;
    }

    async function attempt(key: string, before: Calls): Promise<Result> {
      // without a folder this process alone uses the memory
      const lock = folder === undefined ? undefined : await lockOf(key, signal);
      const write = lock?.write ?? storage.write;
      try {
        const calls = lock ? await read() : before;
        const known = calls.get(key);
        if (known && known.request !== request) throw new NotSent(OTHER);
        if (known?.result) return known.result;
        if (known && !(await canRepeat(known))) throw new NotSent(LOST);
        const call: Call = { request, sentAt: known?.sentAt ?? Date.now() };
        await record(new Map([...forgotten(calls, key), [key, call]]), write);
        const result = await send(key).catch(async (error) => {
          // an earlier attempt with this key may be billed, whatever became of this one
          if (!known && !mayBeBilled(error, wasSent)) await record(new Map([[key, undefined]]), write);
          throw error;
        });
        // the result is paid: it is returned also where the disk is full, and a repetition is refused then
        await write(COLLECTION, new Map([[key, { ...call, result }]])).catch(() => {});
        return result;
      } finally {
        await lock?.release();
      }
    }

    async function canRepeat({ sentAt }: Call): Promise<boolean> {
      return isRemembered(sentAt, offer === "chat-once" ? CHAT_MS : undefined) && hasOffer(client, offer);
    }
  };

  /** Finds a call with the same arguments that may be billed. */
  function findLost(calls: Calls, request: string): string | undefined {
    const isRunning = (key: string) => running.get(key)?.signal.aborted === false;
    const lost = ([key, call]: [string, Call]) => call.request === request && !call.result && !isRunning(key);
    return [...calls].find(lost)?.[0];
  }

  async function read(): Promise<Calls> {
    const records = await attemptOn(async () => {
      if (folder !== undefined) await makeFolder(folder);
      return storage.read(COLLECTION);
    });
    return new Map([...records].map(([key, value]) => [key, readCall(value)]));
  }

  function record(
    changes: ReadonlyMap<string, Call | undefined>,
    write: RecordStorage["write"],
  ): Promise<void> {
    return attemptOn(() => write(COLLECTION, changes));
  }

  /** Takes the lock of a call. Waits while another process works on it. */
  async function lockOf(key: string, signal: AbortSignal) {
    for (;;) {
      const lock = await attemptOn(async () => storage.lock?.(`${COLLECTION}/${key}`));
      if (lock || !storage.lock) return lock;
      await client.clock.sleep(AGAIN_MS, signal);
      signal.throwIfAborted();
    }
  }
}

const OTHER =
  "Nothing was sent: this idempotency_key belongs to another call. Choose a new one for each call.";
const LOST =
  "Nothing was sent: an earlier call with the same arguments may have been billed, and nobody knows how it ended. Tell the user, who can look at the account. If the user wants to pay again, call with a new idempotency_key.";

/** Uses the ledger. Nothing is sent where it fails. */
async function attemptOn<Value>(act: () => Promise<Value>): Promise<Value> {
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
 * @throws {NotSent} for a value that is no key: without its key a repeated call would be paid again
 */
function readKey(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given === "string" && /^[!-~]{8,255}$/.test(given)) return given;
  throw new NotSent(
    `Nothing was sent: idempotency_key must be a text of 8 to 255 ASCII letters, digits and signs without spaces, such as "${crypto.randomUUID()}", got ${JSON.stringify(given)}. Leave it out, or choose one at random.`,
  );
}

/** Finds the call that makes room for a new one: the oldest with a result, or else the oldest. */
function forgotten(calls: Calls, key: string): [string, undefined][] {
  if (calls.size < MOST || calls.has(key)) return [];
  const byAge = [...calls].toSorted(([, a], [, b]) => a.sentAt - b.sentAt);
  const oldest = byAge.find(([, { result }]) => result) ?? byAge[0];
  return oldest ? [[oldest[0], undefined]] : [];
}

/** Reads a record. A damaged record is a call with unknown arguments: its key is never sent again. */
function readCall(value: unknown): Call {
  const { request, sentAt, result } = isRecord(value) ? value : {};
  if (typeof request !== "string" || typeof sentAt !== "number") return { request: "", sentAt: 0 };
  const isWhole = isRecord(result) && Array.isArray(result["content"]);
  return { request, sentAt, ...(isWhole && { result: result as unknown as Result }) };
}

/** True where the gateway may have acted on a call that failed. */
export function mayBeBilled(error: unknown, wasSent: () => boolean): boolean {
  if (!isGatewayError(error)) return wasSent();
  return error.billing === "maybe" || (error.billing === undefined && wasSent());
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}

/** Sorts the keys of objects, so that equal arguments have equal JSON. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([key, one]) => [key, sorted(one)]));
}
