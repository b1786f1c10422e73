import type { Client, RecordStorage } from "@sluice/core";
import type { RemoteStorage } from "@sluice/sync";

export const USERS = ["ada", "bob"] as const;
export const CHAT = "chat/trip";
export const LIST = "conversations";

type Network = "on" | "off" | "html" | "empty" | "json" | "busy" | "lossy";

/** What users wrote, and what became of it. */
export interface Written {
  /** Finished messages of {@link CHAT}. */
  readonly messages: { readonly user: string; readonly browser: string; readonly key: string }[];
  /** `<user> <collection> <key>` of records that a user has removed. */
  readonly removed: Set<string>;
  /** The same of records whose write was refused, or which a sign-out may have removed before they were sent. */
  readonly uncertain: Set<string>;
  wasRestored: boolean;
}

/** A tab of a user. */
export interface Tab {
  readonly user: string;
  readonly client: Client;
  readonly storage: RemoteStorage;
  /** The records that it shows, by collection. */
  readonly shown: ReadonlyMap<string, Map<string, unknown>>;
  readonly ended: AbortController;
}

/** A browser with one session, whose tabs share a local storage. */
export interface Browser {
  readonly name: string;
  readonly local: RecordStorage;
  session: string | undefined;
  network: Network;
  tabs: readonly Tab[];
}

/** What the server has of a user, by collection. */
export type Stored = ReadonlyMap<string, ReadonlyMap<string, unknown>>;

/** Returns the records of a collection that a tab shows. */
export function getShown({ shown }: Tab, collection: string): Map<string, unknown> {
  return shown.get(collection) ?? new Map();
}

export function getStored(stored: Stored, collection: string): ReadonlyMap<string, unknown> {
  return stored.get(collection) ?? new Map();
}
