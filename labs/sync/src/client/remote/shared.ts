import type { Client, RecordStorage } from "@sluice/core";
import type { Listeners } from "../base.js";
import type { Leaving } from "./leaving.js";
import type { Line } from "./line.js";
import type { Outbox } from "./outbox.js";
import { CONVERSATIONS } from "./place.js";
import type { References } from "./references.js";
import type { Sender } from "./sender.js";
import type { Wire } from "./wire.js";

/** Most chats of a page that have a connection of their own, beside the list. Browsers allow few to one host. */
const MOST_FOLLOWED = 3;

/** Parts that the collections of a page share. */
export interface Shared {
  readonly client: Client;
  readonly local: RecordStorage;
  readonly wire: Wire;
  readonly line: Line;
  readonly outbox: Outbox;
  readonly references: References;
  readonly sender: Sender;
  readonly leaving: Leaving;
  /** Collections that are watched, in the order in which that began. */
  readonly watched: Set<string>;
  /** Notified when `watched` has changed. */
  readonly turns: Listeners<[]>;
  /** Removes the copy of a conversation that was removed elsewhere. */
  readonly forgetChat: (id: string) => Promise<void>;
}

/** Returns true while a collection may have a connection of its own: the list, and the chats that were opened last. */
export function mayFollow({ watched }: Shared, collection: string): boolean {
  const chats = [...watched].filter((name) => name !== CONVERSATIONS);
  return collection === CONVERSATIONS || chats.slice(-MOST_FOLLOWED).includes(collection);
}
