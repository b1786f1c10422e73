import type { RecordStorage } from "@sluice/core";
import type { RemoteStorage } from "./storage.js";
import type { Sync } from "./sync.js";

/** A remote storage with the requests to its server. */
export interface Remote {
  readonly storage: RemoteStorage;
  readonly post: Sync["post"];
}

const remotes = new WeakMap<RecordStorage, Remote>();

/** Stores the requests of a storage, for the runner of its chats. */
export function registerRemote(remote: Remote): void {
  remotes.set(remote.storage, remote);
}

export function findRemote(storage: RecordStorage): Remote | undefined {
  return remotes.get(storage);
}
