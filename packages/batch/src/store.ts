import { type Client, ConfigurationError } from "@sluice/core";
import { createOptionsReader, createStore, noteOptions, toError } from "@sluice/core/extend";
import { getClientStorage, registerForget, reportStorageFailure, runAlone } from "@sluice/stores/extend";
import { applyDecision, type Decision, giveUp, sendAgain } from "./decisions.js";
import type { BatchItem, BatchItemState } from "./item.js";
import { assertSameRequests, createLedger, type Ledger, toItem, type Write } from "./ledger.js";
import type { BatchOptions } from "./options.js";
import type { Pace } from "./pace.js";
import { type BatchRequest, parseList } from "./request.js";
import { createContext, startWork, type Work } from "./run.js";
import type { Batch, BatchState, BatchStatus } from "./state.js";

/** Shortest time between two notifications of progress, in milliseconds. */
const THROTTLE_MS = 50;

/** A call of `run`. */
interface Run {
  readonly ended: Promise<BatchState>;
  /** Aborts requests that the gateway does not have yet. */
  readonly stop: AbortController;
  /** Aborts all requests, after the user's data was forgotten. */
  readonly forget: AbortController;
  /** Number of requests at once, and pauses; undefined before the run has the lock. */
  pace?: Pace;
  /** The requests in progress; undefined before the run has the lock. */
  work?: Work;
}

/**
 * Creates a batch: many images, videos and chats, a few at a time, each sent once. A ledger in `storage` records each
 * request before it is sent, so that the batch continues after a crash. The next run skips finished requests, polls
 * videos, and marks requests with an unknown result as `unconfirmed`. Behind a proxy with `idempotency()`, it repeats
 * such a request under its key, and you pay once.
 *
 * `createBatch` sends nothing before `run`. Two tabs or processes with the same `id` and storage take turns.
 *
 * @param requests the list, or a function that returns it. Each `run` calls the function
 * @param options the options, or a function that returns them. Each use calls the function. `id` and `storage` must not
 *   change
 * @throws {ConfigurationError} for a duplicate id, a request without a kind, and an invalid option
 * @example
 * ```ts
 * const prompts = ["A reef at dawn", "A reef at noon"];
 * const batch = createBatch(
 *   client,
 *   prompts.map((prompt) => ({ id: prompt, image: { model: "gamma-image-5-0-260128", prompt } })),
 *   { id: "reefs", storage: indexedDBStorage(), concurrency: 8, onResult: ({ id, result }) => show(id, result) },
 * );
 * const { done, failed, unconfirmed, error } = await batch.run();
 * ```
 */
export function createBatch(
  client: Client,
  requests: readonly BatchRequest[] | (() => readonly BatchRequest[]),
  options: BatchOptions | (() => BatchOptions),
): Batch {
  noteOptions("createBatch", options, client);
  const readOptions = createOptionsReader(options);
  const { id, storage: storageOption } = checkOptions(readOptions());
  const readList = () => parseList(typeof requests === "function" ? requests() : requests);
  const readLedger = () => ledger.read(readList());
  readList();
  const storage = getClientStorage(client, storageOption);
  const collection = `batches/${id}`;
  const ledger = createLedger(client, storage, collection, publishLater);
  let status: BatchStatus = "idle";
  let error: Error | undefined;
  let run: Run | undefined;
  /** Number of runs and observers that need the storage to be watched. */
  let watchers = 0;
  let stopWatching: () => void = () => {};
  /** The lists of `getItems` since the last change. */
  const lists = new Map<BatchItemState | undefined, readonly BatchItem[]>();
  const store = createStore<BatchState>(() => createSnapshot(ledger, status, error, run?.pace), {
    clock: client.clock,
    throttleMs: THROTTLE_MS,
    onUse() {
      beginWatching();
      if (!run) readLedger().catch((cause) => reportStorageFailure(client, cause));
      return endWatching;
    },
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    run: start,
    stop,
    retry: (...ids) => decide(ids, sendAgain),
    skip: (...ids) => decide(ids, giveUp),
    getItem(id) {
      const entry = ledger.entries.get(id);
      return entry && toItem(entry);
    },
    getItems,
  };

  function getItems(state?: BatchItemState): readonly BatchItem[] {
    const isListed = (item: BatchItem) => !state || item.state === state;
    const list = lists.get(state) ?? [...ledger.entries.values()].map(toItem).filter(isListed);
    lists.set(state, list);
    return list;
  }

  function start(): Promise<BatchState> {
    if (run && !run.stop.signal.aborted) return run.ended;
    const previousRun = run?.ended;
    const stop = new AbortController();
    const forget = new AbortController();
    error = undefined;
    status = "running";
    const ended = Promise.resolve(previousRun).then(() => runNow(started));
    const started: Run = { ended, stop, forget };
    run = started;
    publish();
    return ended;
  }

  /** Runs the batch under its lock, after reading the ledger again. Never rejects. */
  async function runNow(started: Run): Promise<BatchState> {
    const { stop, forget } = started;
    beginWatching();
    const handleBusy = () => {
      if (status === "locked") return;
      show("locked");
      readLedger().catch((cause) => fail(started, cause));
    };
    try {
      await runAlone(client, storage, collection, { signal: stop.signal, onBusy: handleBusy }, (write) =>
        runLocked(started, write),
      );
    } catch (cause) {
      if (cause !== stop.signal.reason && cause !== forget.signal.reason) fail(started, cause);
    }
    if (run === started) {
      run = undefined;
      if (error) status = "error";
      else status = stop.signal.aborted ? "stopped" : "done";
    }
    endWatching();
    publish();
    return store.getSnapshot();
  }

  async function runLocked(started: Run, write: Write): Promise<void> {
    // the previous holder of the lock may have written records
    await readLedger();
    assertSameRequests(ledger.entries.values());
    await ledger.saveUnsaved(write);
    show("running");
    const onPace = () => {
      publish();
      started.work?.wake();
    };
    const context = createContext(client, readOptions, { ledger, write, ...getSignals(started) }, onPace);
    started.pace = context.pace;
    started.work = startWork(context, (cause) => fail(started, cause));
    started.work.wake();
    await started.work.ended;
  }

  function fail(failed: Run, cause: unknown): void {
    if (run === failed) error ??= toError(cause);
    failed.stop.abort(null);
    publish();
  }

  function stop(): void {
    if (!run || run.stop.signal.aborted) return;
    run.stop.abort(null);
    show("stopped");
  }

  async function decide(ids: readonly string[], decision: Decision): Promise<void> {
    if (ledger.entries.size === 0) await readLedger();
    for (const entry of await applyDecision(ledger, ids, decision)) run?.work?.add(entry);
    run?.work?.wake();
  }

  /** Merges the records that other tabs and processes write. Each call needs a call of `endWatching`. */
  function beginWatching(): void {
    watchers += 1;
    if (watchers > 1) return;
    const unsubscribe = storage.subscribe(collection, (records) => {
      for (const entry of ledger.mergeRecords(records, run?.work !== undefined)) run?.work?.add(entry);
      run?.work?.wake();
    });
    const unregister = registerForget(client, () => {
      run?.forget.abort(null);
      run?.stop.abort(null);
      ledger.forget();
    });
    stopWatching = () => {
      unsubscribe();
      unregister();
    };
  }

  function endWatching(): void {
    watchers -= 1;
    if (watchers === 0) stopWatching();
  }

  function show(next: BatchStatus): void {
    status = next;
    publish();
  }

  /** Publishes at once. Only progress is throttled. */
  function publish(): void {
    lists.clear();
    store.flush();
  }

  function publishLater(): void {
    lists.clear();
    store.changed();
  }
}

function createSnapshot(
  { entries, counts }: Ledger,
  status: BatchStatus,
  error: Error | undefined,
  pace: Pace | undefined,
): BatchState {
  const isPaused = status === "running" && pace?.pause !== undefined;
  return {
    status: isPaused ? "paused" : status,
    total: entries.size,
    ...counts,
    concurrency: pace?.concurrency ?? 0,
    pausedUntil: pace?.pause?.until,
    error: error ?? pace?.pause?.error,
  };
}

function getSignals({ stop, forget }: Run) {
  return { stopped: stop.signal, forgotten: forget.signal };
}

function checkOptions(options: BatchOptions): BatchOptions {
  const { id, storage, concurrency = 1 } = options;
  const fail = (message: string) => {
    throw new ConfigurationError(message);
  };
  if (typeof id !== "string" || id === "") fail('id: is missing: give the batch a name, { id: "reefs" }');
  if (typeof storage?.read !== "function")
    fail("storage: is missing: give indexedDBStorage(), or fileStorage(path) of @sluice/stores/node");
  if (!(Number.isInteger(concurrency) && concurrency > 0))
    fail(`concurrency: must be a whole number from 1 up, got ${concurrency}`);
  return options;
}
