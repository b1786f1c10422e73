import { scoped } from "../base/scope.js";
import type { Client } from "../client.js";
import type { Presence } from "../tabs/page-activity.js";
import type { Snapshot, TaskHandle, TaskKind } from "./define-task.js";
import { spaced } from "./pace.js";
import { intervalAfter } from "./poll.js";
import {
  createWatch,
  type Watch,
  type WatchesInUse,
  type WatchPlan,
  type WatchSettings,
  type WatchState,
} from "./shared-poller.js";

/** The parts of a watch that its caller decides. */
interface Sharing<Task, Handle> {
  readonly inUse: WatchesInUse<Task>;
  /** Returns what is known about the task now. */
  readonly handleOf: () => Handle;
  readonly settings: () => WatchSettings<Task>;
  /** Makes the plan of a new watch. */
  readonly planOf: (usual: UsualPlan<Task>) => WatchPlan<Task>;
}

/** A plan without the parts that kinds of tasks do not share. */
export type UsualPlan<Task> = Omit<WatchPlan<Task>, "known" | "presence">;

/**
 * Returns the watch of a task: the one in use, or a new one. A watch without subscribers is dropped, so call this again
 * before each use.
 */
export function sharedWatch<Task extends Snapshot, Handle extends TaskHandle>(
  kind: TaskKind<Task, Task, Handle>,
  client: Client,
  { inUse, handleOf, settings, planOf }: Sharing<Task, Handle>,
): Watch<Task> {
  const { id } = handleOf();
  const known = inUse.get(id);
  if (known) {
    known.settings = settings;
    return known.watch;
  }
  const watch: Watch<Task> = createWatch(
    planOf({
      name: scoped(client, `sluice/${kind.name}/${client.baseURL}/${id}`),
      client,
      inBackground: () => shared.settings().pollInBackground ?? false,
      poll: (onPoll, signal, seen) =>
        kind.watch(client, handleOf(), {
          onPoll,
          signal,
          seenBefore: seen !== undefined,
          intervalMs: (task) =>
            spaced(client.clock, intervalAfter(shared.settings().intervalMs ?? kind.intervalMs, task)),
        }),
      merge: kind.merge,
      isFinal: kind.isFinal,
      onUse: (isUsed) => void (isUsed ? inUse.set(id, shared) : inUse.delete(id)),
    }),
  );
  const shared = { watch, settings };
  return watch;
}

/** Returns the watch of a task that no list keeps: one for each task of a client. */
export function watchAlone<Task extends Snapshot, Handle extends TaskHandle>(
  kind: TaskKind<Task, Task, Handle>,
  client: Client,
  handle: Handle,
  settings: () => WatchSettings<Task> & { readonly presence?: Presence | undefined },
  known: WatchState<Task>,
): Watch<Task> {
  const inUse: WatchesInUse<Task> = kind.watches.get(client) ?? new Map();
  kind.watches.set(client, inUse);
  const { presence } = settings();
  const planOf = (usual: UsualPlan<Task>) => ({ ...usual, presence, known });
  return sharedWatch(kind, client, { inUse, handleOf: () => handle, settings, planOf });
}
