import type { BoundHost } from "@sluice/worker-proxy";

/** A task that has ended, as the gateway reports it. */
export interface EndedResult<Env> {
  readonly host: BoundHost;
  readonly env: Env;
  readonly userId: string;
  /** The gateway's id of the task. */
  readonly id: string;
  /** The gateway's response to a query of the task, parsed. */
  readonly answer: unknown;
}

/** Stores that the results of a task are to be copied. Can run again for the same task. */
export type StoreResults<Env> = (result: EndedResult<Env>) => Promise<void>;

const offered = new WeakMap<object, StoreResults<never>>();

/** Lets a plugin of this package see the end of each watched task before the end is stored. */
export function offerResults<Env>(plugin: object, store: StoreResults<Env>): void {
  offered.set(plugin, store as StoreResults<never>);
}

/** Returns what the plugins of a proxy do with results. */
export function findResults<Env>(plugins: readonly object[]): readonly StoreResults<Env>[] {
  return plugins.flatMap((plugin) => (offered.get(plugin) as StoreResults<Env> | undefined) ?? []);
}
