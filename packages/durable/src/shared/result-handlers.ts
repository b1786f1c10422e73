import type { BoundHost } from "@sluice/worker-proxy/plugin";

/** A watched task that has ended, as the gateway reports it. */
export interface TaskResult<Env> {
  readonly host: BoundHost;
  readonly env: Env;
  readonly userId: string;
  /** The gateway's id of the task. */
  readonly id: string;
  /** The gateway's response to a query of the task, parsed. */
  readonly response: unknown;
}

/** Queues the files of a task for copying. It is safe to run again for the same task. */
type ResultHandler<Env> = (result: TaskResult<Env>) => Promise<void>;

const handlerByPlugin = new WeakMap<object, ResultHandler<never>>();

/** Registers the function of a plugin that runs for each watched task that has ended, before the end is stored. */
export function addResultHandler<Env>(plugin: object, handler: ResultHandler<Env>): void {
  handlerByPlugin.set(plugin, handler as ResultHandler<never>);
}

/** Finds the registered functions of some plugins. */
export function findResultHandlers<Env>(plugins: readonly object[]): readonly ResultHandler<Env>[] {
  return plugins.flatMap((plugin) => (handlerByPlugin.get(plugin) as ResultHandler<Env> | undefined) ?? []);
}
