import type { Client, RecordStorage, SharedDevices } from "@sluice/core";
import { callAfter, createListeners, toIdleClock } from "@sluice/core/extend";
import { addUserPrefix, isWithin, reportStorageFailure } from "@sluice/stores/extend";
import { createRandomWords } from "../base.js";
import type { DeviceLock } from "../devices/device-lock.js";
import { type Collection, createCollection } from "./collection.js";
import { joinRecords } from "./join.js";
import { createLeaving } from "./leaving.js";
import { createLine } from "./line.js";
import { createOutbox, type OutboxEntry } from "./outbox.js";
import { CONVERSATIONS, type Place, placeOf, placeOfChat, stateNameOf } from "./place.js";
import { createReferences } from "./references.js";
import { createSender } from "./sender.js";
import type { Shared } from "./shared.js";
import { createWire } from "./wire.js";

/** A record that the server does not take. */
export interface RecordRefusal {
  /** Name of the collection: `chat/` and the id of the conversation, or `conversations`. */
  readonly collection: string;
  /** Key of the record: the id of a message, or of a conversation. */
  readonly key: string;
  /** Reason, in the server's words. */
  readonly error: Error;
}

/** All collections of a page that live on the server, too. */
export interface Collections extends Required<Pick<RecordStorage, "drop">> {
  read(place: Place): ReturnType<RecordStorage["read"]>;
  write(place: Place, changes: ReadonlyMap<string, unknown>): Promise<void>;
  watch(
    place: Place,
    listener: (changes: ReadonlyMap<string, unknown>) => void,
    onRefusal?: (error: unknown) => void,
  ): () => void;
  pass(place: Place, changes: ReadonlyMap<string, unknown>): void;
  lock(place: Place, name: string): Promise<DeviceLock | undefined>;
  watchLocks(place: Place, listener: () => void): () => void;
  noteShown(place: Place, ms: number, note: (version: number) => void): void;
  status(place: Place): ReturnType<SharedDevices["status"]>;
  deviceId(): Promise<string>;
}

/** Creates the collections of a page, and begins to send what closed pages have left. */
export function createCollections(
  client: Client,
  local: RecordStorage,
  onRefusal?: (refusal: RecordRefusal) => void,
): Collections {
  const wire = createWire(client, randomName());
  const line = createLine(client, wire);
  const outbox = createOutbox({
    client,
    local,
    device: wire.device,
    join: (collection, key, mine, theirs) => joinRecords(collection, key, mine, theirs, true).value,
    onAdopted,
  });
  const references = createReferences(client, local);
  const all = new Map<string, Collection>();
  const byName = (collection: string) => placeOf(client, addUserPrefix(client, collection));
  const sender = createSender({
    client,
    wire,
    line,
    outbox,
    references,
    placeOf: byName,
    onTaken: (place, taken) => of(place).replica.noteTaken(taken),
    onKept: (place, kept) => of(place).take(kept),
    onGone: (place) => of(place).gone(),
    onRefused: refuse,
    onChange: (collection) => all.get(collection)?.changed(),
  });
  const shared: Shared = {
    client,
    local,
    wire,
    line,
    outbox,
    references,
    sender,
    leaving: createLeaving({ wire, outbox, sender, references, placeOf: byName }),
    watched: new Set(),
    turns: createListeners<[]>(),
    forgetChat,
  };
  line.subscribe(() => {
    if (line.isLocal) void leaveServer().catch(report);
    for (const collection of all.values()) collection.changed();
    sender.wake();
  });
  outbox.adopt().then(sender.wake, report);

  return {
    read: (place) => of(place).read(),
    write: (place, changes) => of(place).write(changes),
    watch(place, listener, onWatchRefusal) {
      shared.leaving.stayLast();
      return of(place).replica.watch(listener, onWatchRefusal);
    },
    pass: (place, changes) => of(place).pass(changes),
    lock: (place, name) => of(place).lock(name),
    watchLocks: (place, listener) => of(place).watchLocks(listener),
    noteShown(place, ms, note) {
      const { replica } = of(place);
      note(replica.newest());
      callAfter(toIdleClock(client.clock), ms, new AbortController().signal, replica.onSent(note));
    },
    status: (place) => of(place).status,
    async deviceId() {
      const name = addUserPrefix(client, "remote/device");
      const known = (await local.read(name)).get("id");
      if (typeof known === "string") return known;
      await local.write(name, new Map([["id", randomName()]]));
      // another tab may have been faster
      return String((await local.read(name)).get("id"));
    },
    drop,
  };

  function of(place: Place): Collection {
    const known = all.get(place.collection) ?? createCollection(shared, place);
    all.set(place.collection, known);
    return known;
  }

  function onAdopted(taken: ReadonlyMap<string, ReadonlyMap<string, OutboxEntry>>): void {
    for (const [collection, entries] of taken) {
      const place = byName(collection);
      if (place) of(place).replica.adopt(entries).catch(report);
    }
    sender.wake();
  }

  function refuse({ collection }: Place, key: string, error: Error): void {
    if (onRefusal) onRefusal({ collection, key, error });
    else reportStorageFailure(client, error, collection === CONVERSATIONS ? undefined : key);
  }

  /** Empties the outbox. A server that keeps conversations later lacks these records, and they are found by that. */
  async function leaveServer(): Promise<void> {
    for (const collection of [...outbox.collections]) {
      const place = byName(collection);
      const entries = new Map([...outbox.of(collection)].filter(([, { value }]) => value !== undefined));
      if (place) await local.write(stateNameOf(client, place), new Map([["state", undefined]]));
      await outbox.sent(collection, entries);
    }
  }

  async function forgetChat(id: string): Promise<void> {
    const place = placeOfChat(client, id);
    if (place) await of(place).gone();
  }

  async function drop(name: string): Promise<void> {
    const within = [...all.values()].filter(({ replica }) => isWithin(name, replica.place.name));
    const resume = within.map((collection) => collection.stop());
    const isAll = isWithin(name, addUserPrefix(client, "remote/outbox"));
    // the user has signed out: what is forgotten must not be read again
    if (isAll) line.close();
    if (isAll) outbox.reset();
    for (const collection of [...outbox.collections])
      if (isWithin(name, addUserPrefix(client, collection))) await outbox.clear(collection);
    await local.drop?.(name);
    const [, collection] = name.split(addUserPrefix(client, ""), 2);
    if (!isAll && collection) await local.drop?.(addUserPrefix(client, `remote/${collection}`));
    for (const go of resume) go();
  }

  function report(error: unknown): void {
    reportStorageFailure(client, error);
  }
}

/** 22 random characters. */
function randomName(): string {
  return Array.from(createRandomWords(), (word) => word.toString(36).padStart(7, "0"))
    .join("")
    .slice(0, 22);
}
