import type { Job, Operation, Reading, Source } from "@sluice/worker-proxy/plugin";

/** Defines a write. */
export function operation<Input, Output>(
  name: string,
  run: Operation<Input, Output>["run"],
): Operation<Input, Output> {
  return { name: `sync.${name}`, kind: "write", run };
}

/** Defines a read. */
export function reading<Input, Output>(
  name: string,
  run: Reading<Input, Output>["run"],
): Reading<Input, Output> {
  return { name: `sync.${name}`, kind: "read", run };
}

/** Defines work outside of a transaction. */
export function job<Input>(name: string, attempts: number, run: Job<Input>["run"]): Job<Input> {
  return { name: `sync.${name}`, attempts, run };
}

/** Defines a stream of bytes. */
export function source<Input>(name: string, run: Source<Input>["run"]): Source<Input> {
  return { name: `sync.${name}`, run };
}
