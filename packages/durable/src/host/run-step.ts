import type { JSONValue, Operation, Reader, Reading, SQL, Value } from "@sluice/worker-proxy/plugin";
import type { TimerRows } from "./timer-rows.js";

export type Query = Reader["query"];

/** The part of `AsyncLocalStorage` that this file uses. */
interface LocalStorage {
  run<Result>(value: string, work: () => Result): Result;
  getStore(): string | undefined;
}

interface Platform {
  readonly process?: {
    getBuiltinModule?(name: string): { readonly AsyncLocalStorage: new () => LocalStorage } | undefined;
  };
  readonly setImmediate?: (work: () => void) => unknown;
  readonly clearImmediate?: (handle: never) => void;
}

// Read once, because tests replace the timers of the platform
const platform = globalThis as unknown as Platform;
const { setTimeout, clearTimeout } = globalThis;
const afterTurn = platform.setImmediate ?? ((work: () => void) => setTimeout(work, 0));
const cancelTurn = platform.clearImmediate ?? (clearTimeout as (handle: never) => void);

/** The name of the running operation. In Workers it exists only with the flag `nodejs_compat`. */
const running = openLocalStorage();

function openLocalStorage(): LocalStorage | undefined {
  const hooks = platform.process?.getBuiltinModule?.("node:async_hooks");
  return hooks && new hooks.AsyncLocalStorage();
}

/**
 * Checks that the current code does not run within an operation. An operation that waits for another operation of its
 * key would wait for itself.
 *
 * @throws {TypeError} within an operation
 */
export function refuseNested(action: string): void {
  const name = running?.getStore();
  if (name !== undefined)
    throw new TypeError(`operation "${name}": it must not ${action}; do this before or after the operation`);
}

/**
 * Runs an operation or a reading. Its queries work until it ends. After a failed query all further queries fail, as in
 * Postgres.
 *
 * An operation may await only its queries, because a slow request would block its key. If a turn of the event loop ends
 * without a query in flight, the operation awaits something else and is refused.
 *
 * @throws {TypeError} for an operation that awaits something else, or does not await a query
 */
async function runStep<Result>(
  name: string,
  query: Query,
  run: (query: Query) => Promise<Result>,
): Promise<Result> {
  let underWay = 0;
  let isOver = false;
  let failure: { readonly error: unknown } | undefined;
  let check: unknown;
  let refuse: (error: Error) => void = () => {};
  const refused = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  const guarded: Query = async <Row>(sql: SQL, ...values: readonly Value[]) => {
    if (isOver) throw new TypeError(`operation "${name}": it has ended; await each query in it`);
    if (failure) throw failure.error;
    underWay += 1;
    try {
      const rows = await query<Row>(sql, ...values);
      // an operation that did not await this query ends here, so that even an immediate response reveals it
      await undefined;
      return rows;
    } catch (error) {
      failure ??= { error };
      throw error;
    } finally {
      underWay -= 1;
      checkAfterTurn();
    }
  };
  const work = async () => {
    const result = await run(guarded);
    // the transaction has failed, even if the operation caught the error
    if (failure) throw failure.error;
    if (underWay > 0) throw new TypeError(`operation "${name}": await each query`);
    return result;
  };
  checkAfterTurn();
  try {
    return await Promise.race([running ? running.run(name, work) : work(), refused]);
  } finally {
    isOver = true;
    if (check) cancelTurn(check as never);
  }

  function checkAfterTurn(): void {
    check ??= afterTurn(() => {
      check = undefined;
      if (isOver || underWay > 0) return;
      refuse(
        new TypeError(
          `operation "${name}": it awaits something other than a query; fetches, timers and jobs belong outside of it`,
        ),
      );
    });
  }
}

/** The result of an operation, with the work for its host after the commit. */
export interface Ran<Output> {
  readonly output: Output;
  readonly isPublished: boolean;
  /** Time of the earliest timer that the operation stored; infinite without a timer. */
  readonly wakeAt: number;
}

/** Runs an operation in a transaction of its host. */
export async function runOperation<Input extends JSONValue, Output>(
  key: string,
  operation: Operation<Input, Output>,
  input: Input,
  { query, now, rows }: { readonly query: Query; readonly now: number; readonly rows: TimerRows },
): Promise<Ran<Output>> {
  let isPublished = false;
  let wakeAt = Number.POSITIVE_INFINITY;
  const publish = () => {
    isPublished = true;
  };
  const onSchedule = (at: number) => {
    wakeAt = Math.min(wakeAt, at);
  };
  const output = await runStep(operation.name, query, (guarded) =>
    operation.run({ key, now, query: guarded, publish, ...rows.methods(key, guarded, onSchedule) }, input),
  );
  return { output, isPublished, wakeAt };
}

/** Runs a reading. */
export function runReading<Input extends JSONValue, Output>(
  key: string,
  reading: Reading<Input, Output>,
  input: Input,
  query: Query,
): Promise<Output> {
  return runStep(reading.name, query, (guarded) => reading.run({ key, query: guarded }, input));
}
