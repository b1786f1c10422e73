import { createHash } from "node:crypto";
import { isGatewayError } from "@sluice/core";
import type { Input, Result } from "./tools/tool.js";

/** One thing that is paid for, by its key. */
interface Entry {
  readonly key: string;
  /** Hash of the tool and its arguments. */
  readonly request: string;
  /** Aborts when the caller cancels: the end of the call is not known from then on. */
  readonly signal: AbortSignal;
  state: "in flight" | "done" | "unknown";
  result: Promise<Result>;
}

/** A call that is not sent, since it may be paid already. */
export class NotRepeated extends Error {
  override readonly name = "NotRepeated";
}

/** Number of calls that are remembered. */
const MOST = 1000;

/**
 * Remembers the paid calls of this process, so that none is paid twice: a call with the key of one that is in flight or
 * has ended gets its result. A call whose end nobody knows is sent again, under its key, only where `isRemembered` says
 * that the server in between knows the key; and so is the same call without a key.
 */
export function createPaidCalls(isRemembered: (offer: string) => Promise<boolean>) {
  const calls = new Map<string, Entry>();

  /** Sends a call, unless it is known. `send` gets its key; `wasSent` is true if the gateway may have it. */
  return async function run(
    { tool, offer, input, signal }: { tool: string; offer: string; input: Input; signal: AbortSignal },
    send: (key: string) => Promise<Result>,
    wasSent: () => boolean,
  ): Promise<Result> {
    const { idempotency_key: given, ...fields } = input;
    const request = hashOf(JSON.stringify([tool, sorted(fields)]));
    const known = typeof given === "string" ? calls.get(given) : lostCall(request);
    if (known && known.request !== request)
      throw new NotRepeated(
        "Nothing was sent: this idempotency_key belongs to another call. Choose a new one for each call.",
      );
    if (known && !isLost(known)) return unlessAborted(known.result, signal);
    const key = known?.key ?? (typeof given === "string" ? given : crypto.randomUUID());
    const entry: Entry = { key, request, signal, state: "in flight", result: sent(known) };
    calls.delete(key);
    calls.set(key, entry);
    forgetOldest();
    try {
      const result = await entry.result;
      entry.state = "done";
      return result;
    } catch (error) {
      if (error instanceof NotRepeated || mayBeBilled(error, wasSent)) entry.state = "unknown";
      else if (calls.get(key) === entry) calls.delete(key);
      throw error;
    }

    async function sent(lost: Entry | undefined): Promise<Result> {
      if (lost && !(await isRemembered(offer)))
        throw new NotRepeated(
          "Nothing was sent: an earlier call with the same arguments may have been billed, and nobody knows how it ended. Tell the user, who can look at the account. If the user wants to pay again, call with a new idempotency_key.",
        );
      return send(key);
    }
  };

  /** Finds a call with the same arguments whose end is not known. */
  function lostCall(request: string): Entry | undefined {
    return [...calls.values()].find((entry) => entry.request === request && isLost(entry));
  }

  function forgetOldest(): void {
    if (calls.size <= MOST) return;
    const settled = [...calls.values()].find(({ state }) => state === "done") ?? [...calls.values()][0];
    if (settled) calls.delete(settled.key);
  }
}

function isLost({ state, signal }: Entry): boolean {
  return state === "unknown" || (state === "in flight" && signal.aborted);
}

/** True where the gateway may have acted on a call that failed. */
export function mayBeBilled(error: unknown, wasSent: () => boolean): boolean {
  if (!isGatewayError(error)) return wasSent();
  return error.outcome === "unknown" || (error.outcome === undefined && wasSent());
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

function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
