import type { Client } from "@sluice/core";
import type { TaskKind } from "@sluice/core/extend";
import { addUserPrefix } from "../base/user-prefix.js";
import { spaceInterval } from "./pace.js";
import { createWatch } from "./shared-poller.js";
import {
  findInterval,
  type Snapshot,
  type TaskHandle,
  type Watch,
  type WatchesInUse,
  type WatchPlan,
  type WatchSettings,
} from "./watch-plan.js";

/** Options of a watch that its caller sets. */
interface Sharing<Task, Handle> extends Pick<WatchPlan<Task>, "presence" | "known"> {
  /** Returns the handle with all known fields. */
  readonly getHandle: () => Handle;
  readonly readSettings: () => WatchSettings<Task>;
  /** Watches in use. @default the watches of the client */
  readonly inUse?: WatchesInUse<Task>;
  /** Changes the default plan of a new watch. */
  readonly adaptPlan?: (usual: WatchPlan<Task>) => WatchPlan<Task>;
}

/**
 * Returns the watch of a task, in use or new. A watch without subscribers is dropped, so call this again before each use.
 */
export function getSharedWatch<Task extends Snapshot, Handle extends TaskHandle>(
  kind: TaskKind<Task, Task, Handle>,
  client: Client,
  {
    getHandle,
    readSettings,
    presence,
    known,
    inUse = getWatches(kind, client),
    adaptPlan = (usual) => usual,
  }: Sharing<Task, Handle>,
): Watch<Task> {
  const { id } = getHandle();
  const found = inUse.get(id);
  if (found) {
    found.readSettings = readSettings;
    return found.watch;
  }
  const watch: Watch<Task> = createWatch(
    adaptPlan({
      name: addUserPrefix(client, `sluice/${kind.name}/${client.baseURL}/${id}`),
      client,
      presence,
      known,
      pollsInBackground: () => shared.readSettings().pollInBackground ?? false,
      poll: (onPoll, signal, seen) =>
        kind.watch(client, getHandle(), {
          onPoll,
          signal,
          seenBefore: seen !== undefined,
          intervalMs: (task) =>
            spaceInterval(
              client.clock,
              findInterval(shared.readSettings().intervalMs ?? kind.intervalMs, task),
            ),
        }),
      merge: kind.merge,
      isFinal: kind.isFinal,
      onUse: (isUsed) => void (isUsed ? inUse.set(id, shared) : inUse.delete(id)),
    }),
  );
  const shared = { watch, readSettings };
  return watch;
}

/** The watches of each client, by the kind of task. */
const watches = new WeakMap<Client, Map<unknown, unknown>>();

function getWatches<Task extends Snapshot, Handle extends TaskHandle>(
  kind: TaskKind<Task, Task, Handle>,
  client: Client,
): WatchesInUse<Task> {
  const ofClient = watches.get(client) ?? new Map<unknown, unknown>();
  watches.set(client, ofClient);
  const ofKind = (ofClient.get(kind) ?? new Map()) as WatchesInUse<Task>;
  ofClient.set(kind, ofKind);
  return ofKind;
}
