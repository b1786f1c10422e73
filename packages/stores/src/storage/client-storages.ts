import type { RecordStorage } from "@sluice/core";
import type { Scoped } from "../base/user-prefix.js";

/** The storages that a client uses in this page, with their state. */
export interface ClientStorages {
  /** The client's object for each storage. */
  readonly own: Map<RecordStorage, RecordStorage>;
  /** Names of the used collections, including the user. */
  readonly collections: Set<string>;
  /** Writes that have not ended. */
  readonly pending: Set<Promise<unknown>>;
  isForgetting: boolean;
  /** Sender of this client's notices, once it has sent one. A storage may report them to this tab, too. */
  sender?: string;
}

/** Collection of the notice that a tab signs out a user. The notice is not stored for long. */
export const FORGOTTEN = "forgotten";
/** Key of the notice. The record contains the sender. */
export const NOTICE = "notice";

const clients = new WeakMap<Scoped, ClientStorages>();

/** Returns the storages of a client; creates an empty record at the first call. */
export function getStorages(client: Scoped): ClientStorages {
  const known = clients.get(client);
  if (known) return known;
  const created: ClientStorages = {
    own: new Map(),
    collections: new Set(),
    pending: new Set(),
    isForgetting: false,
  };
  clients.set(client, created);
  return created;
}
