import type { Job, Source } from "@sluice/worker-proxy/plugin";

/** Defines a job. See {@link Job}. */
export function job<Input>(name: string, attempts: number, run: Job<Input>["run"]): Job<Input> {
  return { name, attempts, run };
}

/** Declares a job that operations schedule, and whose `run` a plugin adds. */
export function declareJob<Input>(name: string, attempts = Number.POSITIVE_INFINITY): Job<Input> {
  return job(name, attempts, () => Promise.reject(new Error(`${name}: belongs to no plugin`)));
}

/**
 * Defines a job that is tried until it succeeds. After an attempt without an end it only reads and writes rows, so that
 * it does not end its process again.
 */
export function persistentJob<Input>(name: string, run: Job<Input>["run"]): Job<Input> {
  return { name, attempts: Number.POSITIVE_INFINITY, run, onGivenUp: run };
}

/** Defines a source. See {@link Source}. */
export function source<Input>(name: string, run: Source<Input>["run"]): Source<Input> {
  return { name, run };
}
