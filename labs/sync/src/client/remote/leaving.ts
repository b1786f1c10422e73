import type { Outbox } from "./outbox.js";
import { CONVERSATIONS, type Place } from "./place.js";
import type { References } from "./references.js";
import type { Sender } from "./sender.js";
import type { SentChange, Wire } from "./wire.js";

/** Sends what a page has left as it is closed, or frozen for later, and gives its leases back. */
export interface Leaving {
  /**
   * Has a lease given back as the page is closed.
   *
   * @param onLeave called when that begins: the page works on nothing any more
   * @returns a function that ends this
   */
  add(place: Place, name: string, onLeave: () => void): () => void;
  /** Listens for the end of the page behind all that listen for it by now: chats write then, and apps may stop an answer. */
  stayLast(): void;
}

/** Parts that this needs. */
interface LeavingOptions {
  readonly wire: Wire;
  readonly outbox: Outbox;
  readonly sender: Sender;
  readonly references: References;
  readonly placeOf: (collection: string) => Place | undefined;
}

/**
 * Creates the end of a page. The leases of a conversation are given back by the request that has its changes, so that no
 * other device acts before it can read what was stopped or sent here. Where that request does not arrive, they run out.
 */
export function createLeaving(options: LeavingOptions): Leaving {
  const { wire, outbox, placeOf } = options;
  const held = new Map<string, Map<string, () => void>>();
  const { addEventListener: listen, removeEventListener: unlisten } = globalThis as Partial<
    typeof globalThis
  >;
  stayLast();
  listen?.("pageshow", () => {
    wire.isLeaving = false;
  });
  return {
    add({ collection }, name, onLeave) {
      const own = held.get(collection) ?? new Map<string, () => void>();
      held.set(collection, own.set(name, onLeave));
      stayLast();
      return () => {
        if (own.get(name) === onLeave) own.delete(name);
      };
    },
    stayLast,
  };

  function stayLast(): void {
    unlisten?.("pagehide", onHide);
    listen?.("pagehide", onHide);
  }

  function onHide(): void {
    wire.isLeaving = true;
    // where no microtask comes between two listeners, this comes after the last one: a chat writes in its own
    queueMicrotask(() => {
      for (const collection of new Set([...outbox.collections, ...held.keys()])) leave(collection);
    });
  }

  function leave(collection: string): void {
    const place = placeOf(collection);
    const leases = new Map(held.get(collection));
    held.delete(collection);
    for (const onLeave of leases.values()) onLeave();
    if (!place || isRemoved(place)) return;
    const names = [...leases.keys()];
    const { changes, isAll } = unsentOf(options, collection);
    if (changes.size > 0) wire.change(place.id, changes, isAll ? names : []).catch(() => {});
    else if (isAll) for (const name of names) wire.release(place.id, name).catch(() => {});
  }

  /** True for a conversation that is removed by this page, as the server does not know yet. */
  function isRemoved({ id }: Place): boolean {
    const entry = outbox.of(CONVERSATIONS).get(id);
    return entry !== undefined && entry.value === undefined;
  }
}

/**
 * Returns the changes of a collection that the server may lack. `isAll` is false where some can't be sent in this turn: a
 * file has to be uploaded first, or a conversation removed.
 */
function unsentOf({ outbox, sender, references, placeOf }: LeavingOptions, collection: string) {
  const sent = sender.sent(collection);
  const due = [...outbox.of(collection)].filter(([, { refusal }]) => !refusal);
  const changes = new Map<string, SentChange>();
  for (const [key, { value, seen }] of due) {
    const isRemoval = value === undefined && collection === CONVERSATIONS && placeOf(`chat/${key}`);
    if (!isRemoval && references.isShort(value))
      changes.set(key, { value: value ?? null, seen, ...(sent.has(key) && { sent: sent.get(key)?.value }) });
  }
  return { changes, isAll: changes.size === due.length };
}
