import type { Client } from "@sluice/core";
import {
  addUserPrefix,
  findInterval,
  type Snapshot,
  type TaskHandle,
  type TaskKind,
} from "@sluice/core/internal";
import { spaced } from "./pace.js";
import { createWatch } from "./shared-poller.js";
import type { Watch, WatchesInUse, WatchPlan, WatchSettings } from "./watch-plan.js";

/** The parts of a watch that its caller decides. */
interface Sharing<Task, Handle> extends Pick<WatchPlan<Task>, "presence" | "known"> {
  /** Returns what is known about the task now. */
  readonly handleOf: () => Handle;
  readonly settings: () => WatchSettings<Task>;
  /** Watches to look in first. @default those of the client */
  readonly inUse?: WatchesInUse<Task>;
  /** Changes the usual plan of a new watch. */
  readonly planOf?: (usual: WatchPlan<Task>) => WatchPlan<Task>;
}

/**
 * Returns the watch of a task: the one in use, or a new one. A watch without subscribers is dropped, so call this again
 * before each use.
 */
export function sharedWatch<Task extends Snapshot, Handle extends TaskHandle>(
  kind: TaskKind<Task, Task, Handle>,
  client: Client,
  {
    handleOf,
    settings,
    presence,
    known,
    inUse = watchesOf(kind, client),
    planOf = (usual) => usual,
  }: Sharing<Task, Handle>,
): Watch<Task> {
  const { id } = handleOf();
  const found = inUse.get(id);
  if (found) {
    found.settings = settings;
    return found.watch;
  }
  const watch: Watch<Task> = createWatch(
    planOf({
      name: addUserPrefix(client, `sluice/${kind.name}/${client.baseURL}/${id}`),
      client,
      presence,
      known,
      inBackground: () => shared.settings().pollInBackground ?? false,
      poll: (onPoll, signal, seen) =>
        kind.watch(client, handleOf(), {
          onPoll,
          signal,
          seenBefore: seen !== undefined,
          intervalMs: (task) =>
            spaced(client.clock, findInterval(shared.settings().intervalMs ?? kind.intervalMs, task)),
        }),
      merge: kind.merge,
      isFinal: kind.isFinal,
      onUse: (isUsed) => void (isUsed ? inUse.set(id, shared) : inUse.delete(id)),
    }),
  );
  const shared = { watch, settings };
  return watch;
}

/** The watches of each client, by the kind of task. */
const watches = new WeakMap<Client, Map<unknown, unknown>>();

function watchesOf<Task extends Snapshot, Handle extends TaskHandle>(
  kind: TaskKind<Task, Task, Handle>,
  client: Client,
): WatchesInUse<Task> {
  const ofClient = watches.get(client) ?? new Map<unknown, unknown>();
  watches.set(client, ofClient);
  const ofKind = (ofClient.get(kind) ?? new Map()) as WatchesInUse<Task>;
  ofClient.set(kind, ofKind);
  return ofKind;
}
