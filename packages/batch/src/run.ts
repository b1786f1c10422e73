import { type Billing, type Client, watchVideoTask } from "@sluice/core";
import { toError } from "@sluice/core/extend";
import { type AttemptEnd, attempt, type RunContext } from "./attempt.js";
import { isFatal, isKeyTaken, isTaskFinal, isTemporary } from "./failures.js";
import { createFeatures } from "./features.js";
import type { BatchResult } from "./item.js";
import type { Entry } from "./ledger.js";
import type { BatchOptions } from "./options.js";
import { createPace } from "./pace.js";
import { type BatchRecord, toStoredError } from "./records.js";

/** Number of unconfirmed requests in a row that ends a run, because further requests may be billed too. */
const MAX_UNCONFIRMED = 10;

/** A run in progress. */
export interface Work {
  /**
   * Resolves when no request is left, or when all requests in flight have ended after `stopped` aborted. Never rejects.
   */
  readonly ended: Promise<void>;
  /** Adds a request to the front of the queue. */
  add(entry: Entry): void;
  /** Starts all requests that may start now. */
  wake(): void;
}

/** Creates the context of a run. `onPace` runs after each change of the pace. */
export function createContext(
  client: Client,
  readOptions: () => BatchOptions,
  given: Pick<RunContext, "ledger" | "write" | "stopped" | "forgotten">,
  onPace: () => void,
): RunContext {
  const { concurrency = 4 } = readOptions();
  const pace = createPace(client, concurrency, given.stopped, onPace);
  return { client, readOptions, pace, features: createFeatures(client), ...given };
}

/** Processes the requests of a ledger. `halt` ends the run early. */
export function startWork(run: RunContext, halt: (error: unknown) => void): Work {
  const { pace, stopped, forgotten } = run;
  const remaining = orderEntries(run.ledger.entries.values());
  const prioritized: Entry[] = [];
  let inFlight = 0;
  let unconfirmedInRow = 0;
  let resolveEnded: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    resolveEnded = resolve;
  });
  stopped.addEventListener("abort", wake);
  return { ended, add: (entry) => void prioritized.push(entry), wake };

  function wake(): void {
    while (!stopped.aborted && !pace.pause && inFlight < pace.concurrency) {
      const entry = prioritized.pop() ?? remaining.next().value;
      if (!entry) break;
      if (isReady(entry)) void start(entry);
    }
    // a request that waits for the end of a pause counts as in flight
    if (inFlight === 0) resolveEnded();
  }

  async function start(entry: Entry): Promise<void> {
    inFlight += 1;
    entry.isBusy = true;
    try {
      const billing = await processEntry(run, entry, halt);
      unconfirmedInRow = billing === "maybe" ? unconfirmedInRow + 1 : 0;
      if (unconfirmedInRow >= MAX_UNCONFIRMED) halt(entry.error);
    } catch (error) {
      if (error !== stopped.reason && error !== forgotten.reason) halt(error);
    }
    entry.isBusy = false;
    inFlight -= 1;
    prioritized.push(entry);
    wake();
  }
}

/** Yields paid requests first, then sent requests, then the others. */
function* orderEntries(entries: Iterable<Entry>): Generator<Entry, undefined> {
  const all = [...entries];
  for (const state of ["received", "created", "sending"])
    yield* all.filter(({ record }) => record?.state === state);
  yield* all;
}

function isReady({ isBusy, record }: Entry): boolean {
  return !isBusy && !["done", "failed", "unconfirmed"].includes(record?.state ?? "waiting");
}

/**
 * Processes one request to its end, or puts it back into the queue. Returns the billing of the attempts of this run if
 * they failed.
 *
 * @throws the error that ends the run
 */
async function processEntry(
  run: RunContext,
  entry: Entry,
  halt: (error: unknown) => void,
): Promise<Billing | undefined> {
  const { ledger, write, pace, readOptions } = run;
  if (!entry.record?.result && !entry.record?.handle) {
    const end = await attempt(run, entry);
    if (!("change" in end)) return recordFailure(run, entry, end);
    pace.speedUp();
    await saveResult(end.change);
  }
  if (!entry.record?.result) {
    const video = await pollVideo(run, entry);
    if (!video) return undefined;
    await saveResult(video);
  }
  await readOptions().onResult?.(toResult(entry));
  run.forgotten.throwIfAborted();
  await ledger.save(entry, { state: "done" }, write);
  return undefined;

  /** Saves a paid result. If the storage fails, `onResult` still gets the result, and the run ends. */
  async function saveResult(change: Partial<BatchRecord>): Promise<void> {
    run.forgotten.throwIfAborted();
    await ledger.save(entry, change, write).catch(halt);
  }
}

function toResult({ id, kind, request, record }: Entry): BatchResult {
  return { id, kind, model: request.model, result: record?.result } as BatchResult;
}

/**
 * Records the failure of a request. Returns its billing; undefined if only an earlier run sent the request.
 *
 * @throws the error that ends the run
 */
async function recordFailure(
  { ledger, write, pace, stopped }: RunContext,
  entry: Entry,
  {
    error,
    billing,
    isOpen,
    reusesKey,
    isFromEarlierRun,
    round,
  }: Extract<AttemptEnd, { readonly error: unknown }>,
): Promise<Billing | undefined> {
  const failure = toError(error);
  const isUnconfirmed = billing === "maybe" || (isOpen && isKeyTaken(error));
  const isRetried = isTemporary(error) || isFatal(error);
  if (isUnconfirmed || !isRetried) {
    entry.error = failure;
    const state = isUnconfirmed ? "unconfirmed" : "failed";
    const key = isUnconfirmed && reusesKey ? entry.record?.key : undefined;
    const finalBilling = isUnconfirmed ? "maybe" : billing;
    const stored = toStoredError(failure, finalBilling);
    await ledger.save(entry, { state, key, open: undefined, error: stored }, write);
    return isFromEarlierRun ? undefined : finalBilling;
  }
  // a request with an attempt that may be billed keeps its record
  if (!isOpen) await ledger.save(entry, { state: "waiting" }, write);
  stopped.throwIfAborted();
  if (!isTemporary(error)) throw error;
  await pace.wait(failure, round);
  return billing;
}

/** Polls a video to its end. Returns the change of its record; undefined if it failed. */
async function pollVideo(run: RunContext, entry: Entry): Promise<Partial<BatchRecord> | undefined> {
  const { client, ledger, readOptions, stopped, write } = run;
  try {
    const { headers, timeout, retry, intervalMs, deadlineMs } = readOptions();
    const watch = { headers, timeout, retry, intervalMs, deadlineMs, signal: stopped, seenBefore: true };
    const { raw: _, ...result } = await watchVideoTask(client, entry.record?.handle ?? "", watch).result();
    return { state: "received", result };
  } catch (error) {
    stopped.throwIfAborted();
    if (isFatal(error)) throw error;
    entry.error = toError(error);
    const clearedFields = isTaskFinal(error) ? { handle: undefined, key: undefined } : {};
    await ledger.save(
      entry,
      { state: "failed", error: toStoredError(entry.error, undefined), ...clearedFields },
      write,
    );
    return undefined;
  }
}
