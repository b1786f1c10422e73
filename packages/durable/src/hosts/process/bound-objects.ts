import type { DurableObjectClass, ObjectNamespace } from "../../objects/object.js";
import type { Keeper } from "./keeper.js";
import { type LiveObjects, type LiveObjectsOptions, openLiveObjects } from "./live-objects.js";

/** Objects of this process, and the way to those of others. */
export interface Objects<Env, Names extends string> {
  /** The variables that were given, and a binding to each class: the second argument of `proxy.fetch`. */
  readonly env: Env & Readonly<Record<Names, ObjectNamespace>>;
  /**
   * Waits for answers that are under way, until they have ended and are settled, and gives up what this process has: the
   * file, or its objects in the database. Let your server take no request any more before. An answer that takes longer is
   * lost, as in a crash: it is settled and reported by the next process. Afterwards each request throws an `Error`.
   *
   * @param withinMs the longest wait, in milliseconds; shorter than the time after which your host kills the process.
   *   @default 10_000
   */
  close(withinMs?: number): Promise<void>;
}

/** Time for which a process that stops waits by itself for what is under way, in milliseconds. */
export const DRAIN_MS = 10_000;

/** Opens objects by classes, which reach each other by the bindings that are added to `env`, and lets alarms run. */
export function openBound<Env extends object, Names extends string>(
  keeper: Keeper,
  classes: Readonly<Record<Names, DurableObjectClass<never>>>,
  env: Env,
  options?: LiveObjectsOptions,
): { readonly live: LiveObjects; readonly env: Objects<Env, Names>["env"] } {
  const all = { ...env } as Record<string, unknown>;
  const live = openLiveObjects(keeper, classes, all as never, options);
  for (const binding of Object.keys(classes)) all[binding] = live.namespace(binding);
  live.start();
  return { live, env: all as Objects<Env, Names>["env"] };
}
