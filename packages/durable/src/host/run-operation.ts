import type { JSONValue, Operation, Reader, Reading } from "@sluice/worker-proxy";
import { runStep } from "./run-step.js";
import type { TimerRows } from "./timer-rows.js";

export type Query = Reader["query"];

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
