import type { JSONValue, Operation, Reader, Reading, SQL, Value } from "@sluice/worker-proxy";
import type { TimerRows } from "./timer-rows.js";

export type Query = Reader["query"];

/** The part of `AsyncLocalStorage` that is used here. */
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

// Read once: tests replace timers of the platform
const platform = globalThis as unknown as Platform;
const { setTimeout, clearTimeout } = globalThis;
const afterTurn = platform.setImmediate ?? ((work: () => void) => setTimeout(work, 0));
const cancelTurn = platform.clearImmediate ?? (clearTimeout as (handle: never) => void);

/** The name of the operation that the current code belongs to. Workers have it with the flag `nodejs_compat` alone. */
const running = openLocalStorage();

function openLocalStorage(): LocalStorage | undefined {
  const hooks = platform.process?.getBuiltinModule?.("node:async_hooks");
  return hooks && new hooks.AsyncLocalStorage();
}

/**
 * Checks that no operation runs around the current code. An operation that waits for another one of its key would wait for
 * itself.
 *
 * @throws {TypeError} within an operation
 */
export function refuseNested(action: string): void {
  const name = running?.getStore();
  if (name !== undefined)
    throw new TypeError(`operation "${name}": it must not ${action}; do this before or after the operation`);
}

/**
 * Runs an operation or a reading. Its queries work until it ends. After a failed query no other one runs, as in Postgres.
 *
 * An operation awaits its queries alone. Once it awaits anything else, no query is under way at the end of a turn of the
 * event loop, and the operation is refused: a slow request would hold its key.
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
      // an operation that did not wait for this query has ended by now, also where the database responds at once
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
    // the operation may have caught the error, and the transaction is lost all the same
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
          `operation "${name}": it awaits something that is no query; a fetch, a timer, a job or another operation belongs outside of it`,
        ),
      );
    });
  }
}

/** An operation that has run, and what its host does once it is stored. */
export interface Ran<Output> {
  readonly output: Output;
  readonly isPublished: boolean;
  /** Time of the earliest timer that it stored; infinite if it stored none. */
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
