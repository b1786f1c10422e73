import { type Billing, type Client, watchVideoTask } from "@sluice/core";
import { toError } from "@sluice/core/internal";
import { type AttemptEnd, attempt, type RunContext } from "./attempt.js";
import { endsRun, isForNow, isOverForTask, isSettledElsewhere } from "./failures.js";
import type { BatchResult } from "./item.js";
import type { Entry } from "./ledger.js";
import { createOffers } from "./offers.js";
import type { BatchOptions } from "./options.js";
import { createPace } from "./pace.js";
import { type BatchRecord, keptError } from "./records.js";

/** Number of unconfirmed requests in a row that ends a run: the following requests may be billed, too. */
const MAX_UNCONFIRMED = 10;

/** A run in progress. */
export interface Work {
  /** Settles when nothing is left, or `stopped` has aborted and what was in flight has ended. Never rejects. */
  readonly ended: Promise<void>;
  /** Adds a request at the front. */
  add(entry: Entry): void;
  /** Starts what can be started now. */
  wake(): void;
}

/** Makes what the requests of a run share. `onPace` is called when the pace has changed. */
export function contextOf(
  client: Client,
  options: () => BatchOptions,
  given: Pick<RunContext, "ledger" | "write" | "stopped" | "forgotten">,
  onPace: () => void,
): RunContext {
  const { concurrency = 4 } = options();
  const pace = createPace(client, concurrency, given.stopped, onPace);
  return { client, options, pace, offers: createOffers(client), ...given };
}

/** Works on the requests of a ledger. `halt` ends the run early. */
export function startWork(run: RunContext, halt: (error: unknown) => void): Work {
  const { pace, stopped, forgotten } = run;
  const rest = inOrder(run.ledger.entries.values());
  const first: Entry[] = [];
  let inFlight = 0;
  let unconfirmedInRow = 0;
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  stopped.addEventListener("abort", wake);
  return { ended, add: (entry) => void first.push(entry), wake };

  function wake(): void {
    while (!stopped.aborted && !pace.pause && inFlight < pace.concurrency) {
      const entry = first.pop() ?? rest.next().value;
      if (!entry) break;
      if (isReady(entry)) void start(entry);
    }
    // a pause is one of those in flight
    if (inFlight === 0) end();
  }

  async function start(entry: Entry): Promise<void> {
    inFlight += 1;
    entry.isBusy = true;
    try {
      const billing = await bring(run, entry, halt);
      unconfirmedInRow = billing === "maybe" ? unconfirmedInRow + 1 : 0;
      if (unconfirmedInRow >= MAX_UNCONFIRMED) halt(entry.error);
    } catch (error) {
      if (error !== stopped.reason && error !== forgotten.reason) halt(error);
    }
    entry.isBusy = false;
    inFlight -= 1;
    first.push(entry);
    wake();
  }
}

/** Yields what is paid first, then what was sent, then the others. */
function* inOrder(entries: Iterable<Entry>): Generator<Entry, undefined> {
  const all = [...entries];
  for (const state of ["answered", "created", "sending"])
    yield* all.filter(({ record }) => record?.state === state);
  yield* all;
}

function isReady({ isBusy, record }: Entry): boolean {
  return !isBusy && !["done", "failed", "unconfirmed"].includes(record?.state ?? "waiting");
}

/**
 * Brings one request to its end, or back to the queue. Returns the cost of its attempts where they failed.
 *
 * @throws what ends the run
 */
async function bring(
  run: RunContext,
  entry: Entry,
  halt: (error: unknown) => void,
): Promise<Billing | undefined> {
  const { ledger, write, pace, options } = run;
  if (!entry.record?.result && !entry.record?.handle) {
    const end = await attempt(run, entry);
    if (!("change" in end)) return settle(run, entry, end);
    pace.answered();
    await keep(end.change);
  }
  if (!entry.record?.result) {
    const video = await polled(run, entry);
    if (!video) return undefined;
    await keep(video);
  }
  await options().onResult?.(resultOf(entry));
  run.forgotten.throwIfAborted();
  await ledger.save(entry, { state: "done" }, write);
  return undefined;

  /** Keeps what is paid. Where the storage fails, the result is handed over all the same, and the run ends. */
  async function keep(change: Partial<BatchRecord>): Promise<void> {
    run.forgotten.throwIfAborted();
    await ledger.save(entry, change, write).catch(halt);
  }
}

function resultOf({ id, kind, request, record }: Entry): BatchResult {
  return { id, kind, model: request.model, result: record?.result } as BatchResult;
}

/** Writes how the attempts at a request have ended. @throws what ends the run */
async function settle(
  { ledger, write, pace, stopped }: RunContext,
  entry: Entry,
  { error, billing, isOpen, keepsKey, ticket }: Extract<AttemptEnd, { readonly error: unknown }>,
): Promise<Billing> {
  const known = toError(error);
  const isUnconfirmed = billing === "maybe" || (isOpen && isSettledElsewhere(error));
  const isBack = isForNow(error) || endsRun(error);
  if (isUnconfirmed || !isBack) {
    entry.error = known;
    const state = isUnconfirmed ? "unconfirmed" : "failed";
    const key = isUnconfirmed && keepsKey ? entry.record?.key : undefined;
    const left = isUnconfirmed ? "maybe" : billing;
    await ledger.save(entry, { state, key, open: undefined, error: keptError(known, left) }, write);
    return left;
  }
  // one with an attempt that may be billed stays as it is
  if (!isOpen) await ledger.save(entry, { state: "waiting" }, write);
  stopped.throwIfAborted();
  if (!isForNow(error)) throw error;
  await pace.rest(known, ticket);
  return billing;
}

/** Polls a video to its end. Returns the change of its record; undefined where it has no video. */
async function polled(run: RunContext, entry: Entry): Promise<Partial<BatchRecord> | undefined> {
  const { client, ledger, options, stopped, write } = run;
  try {
    const { headers, timeout, retry, intervalMs, deadlineMs } = options();
    const watch = { headers, timeout, retry, intervalMs, deadlineMs, signal: stopped, seenBefore: true };
    const { raw: _, ...result } = await watchVideoTask(client, entry.record?.handle ?? "", watch).result();
    return { state: "answered", result };
  } catch (error) {
    stopped.throwIfAborted();
    if (endsRun(error)) throw error;
    entry.error = toError(error);
    const over = isOverForTask(error) ? { handle: undefined, key: undefined } : {};
    await ledger.save(entry, { state: "failed", error: keptError(entry.error, undefined), ...over }, write);
    return undefined;
  }
}
