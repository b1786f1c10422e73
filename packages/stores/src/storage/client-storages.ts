import type { RecordStorage } from "@sluice/core";
import type { Scoped } from "@sluice/core/internal";

/** The storages that a client uses in this page, and the state of their use. */
export interface ClientStorages {
  /** The client's own object for each storage that it uses. */
  readonly own: Map<RecordStorage, RecordStorage>;
  /** Names of the collections that were used, with the user. */
  readonly collections: Set<string>;
  /** Writes that have not ended. */
  readonly pending: Set<Promise<unknown>>;
  isForgetting: boolean;
  /** Sender of this client's notices, from the first one on. A storage may report them to this tab, too. */
  sender?: string;
}

/** Collection of the notice that a tab forgets a scope. It is never kept. */
export const FORGOTTEN = "forgotten";
/** Key of the notice. Its record is the sender. */
export const NOTICE = "notice";

const clients = new WeakMap<Scoped, ClientStorages>();

/** Returns the storages of a client; creates the empty record at first. */
export function storagesOf(client: Scoped): ClientStorages {
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
