import type { BoundHost } from "@sluice/worker-proxy/plugin";

/** A task that has ended, as the gateway reports it. */
export interface EndedResult<Env> {
  readonly host: BoundHost;
  readonly env: Env;
  readonly userId: string;
  /** The gateway's id of the task. */
  readonly id: string;
  /** The gateway's response to a query of the task, parsed. */
  readonly response: unknown;
}

/** Stores the order to copy the results of a task. It is safe to run again for the same task. */
export type StoreResults<Env> = (result: EndedResult<Env>) => Promise<void>;

const offered = new WeakMap<object, StoreResults<never>>();

/** Registers a function that runs for each watched task that has ended, before the end is stored. */
export function offerResults<Env>(plugin: object, store: StoreResults<Env>): void {
  offered.set(plugin, store as StoreResults<never>);
}

/** Returns the functions that the plugins of a proxy have registered with {@link offerResults}. */
export function findResults<Env>(plugins: readonly object[]): readonly StoreResults<Env>[] {
  return plugins.flatMap((plugin) => (offered.get(plugin) as StoreResults<Env> | undefined) ?? []);
}
