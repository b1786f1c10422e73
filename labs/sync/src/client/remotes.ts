import type { RecordStorage } from "@sluice/core";
import type { Connection } from "./connection.js";
import type { RemoteStorage } from "./storage.js";

/** A remote storage with the connection to its server. */
export interface Remote {
  readonly storage: RemoteStorage;
  readonly connection: Connection;
}

const remotes = new WeakMap<RecordStorage, Remote>();

/** Stores the connection of a storage, for the runner of its chats. */
export function noteRemote(remote: Remote): void {
  remotes.set(remote.storage, remote);
}

export function findRemote(storage: RecordStorage): Remote | undefined {
  return remotes.get(storage);
}
