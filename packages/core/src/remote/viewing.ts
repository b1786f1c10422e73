import { isSame } from "../base/same.js";
import type { Client } from "../client.js";
import type { RecordStorage } from "../storage/storage.js";
import { isRecord } from "../transport/error-response.js";
import { type ServerRecord, type Viewer, viewerIn } from "./answers.js";
import { type Place, stateNameOf } from "./place.js";

/** Key of the record with the names of the members. Only the server writes it. */
const MEMBERS = "/members";
/** Id of the owner: a message without an author is older than the first link, and the owner's. */
const OWNER = "owner";
/** Key of this user as a member, in the state of a collection. */
const VIEWER = "viewer";

/** A conversation as this user sees it: with the names of the others, and without an author on own messages. */
export interface Viewing {
  readonly isReadOnly: () => boolean;
  /** Takes over what the server says of this user. Undefined changes nothing. */
  readonly note: (viewer: Viewer | undefined) => void;
  /**
   * Reads what is known of this user, for a page that has no network. Never rejects.
   *
   * @param copy returns the records as the page has read them: a long conversation is read once
   */
  readonly load: (copy: () => Promise<ReadonlyMap<string, unknown>>) => Promise<void>;
  /** Takes over what another tab has noted. */
  readonly watch: (news: ReadonlyMap<string, unknown>) => void;
  /** Returns records as this user sees them. */
  readonly view: (records: ReadonlyMap<string, ServerRecord>) => ReadonlyMap<string, ServerRecord>;
  readonly viewPassed: (records: ReadonlyMap<string, unknown>) => ReadonlyMap<string, unknown>;
  /** Returns the records of the copy that have other names by now. */
  readonly renamed: (copy: ReadonlyMap<string, unknown>) => ReadonlyMap<string, unknown>;
  /** True where these records have other names of members. */
  readonly hasNames: (records: ReadonlyMap<string, unknown>) => boolean;
}

interface ViewingOptions {
  readonly client: Client;
  readonly local: RecordStorage;
  readonly place: Place;
  readonly onChange: () => void;
}

/** Creates the view of one conversation. */
export function createViewing({ client, local, place, onChange }: ViewingOptions): Viewing {
  const stateName = stateNameOf(client, place);
  let viewer: Viewer | undefined;
  let names: Readonly<Record<string, unknown>> = {};
  return {
    isReadOnly: () => viewer?.access === "read",
    note(next) {
      if (!next || isSame(next, viewer)) return;
      take(next);
      // a page without a network shows the same
      local.write(stateName, new Map([[VIEWER, next]])).catch(() => {});
    },
    async load(copy) {
      const [state, records] = await Promise.all([local.read(stateName), copy()]).catch(() => []);
      names = namesIn(records?.get(MEMBERS)) ?? names;
      if (!viewer) take(viewerIn(state?.get(VIEWER)));
    },
    watch(news) {
      if (news.has(VIEWER)) take(viewerIn(news.get(VIEWER)));
    },
    view(records) {
      noteNames(records.get(MEMBERS)?.value);
      if (!viewer) return records;
      return new Map([...records].map(([key, record]) => [key, { ...record, value: seen(record.value) }]));
    },
    viewPassed: (records) =>
      viewer ? new Map([...records].map(([key, value]) => [key, seen(value)])) : records,
    hasNames: (records) => viewer !== undefined && records.has(MEMBERS),
    renamed(copy) {
      const all = [...copy].map(([key, value]) => [key, value, renamed(value)] as const);
      return new Map(all.flatMap(([key, value, now]) => (now === value ? [] : [[key, now]])));
    },
  };

  function take(next: Viewer | undefined): void {
    if (!next || isSame(next, viewer)) return;
    viewer = next;
    onChange();
  }

  function noteNames(value: unknown): void {
    names = namesIn(value) ?? names;
  }

  /** Takes the author from an own message, and names that of another one. */
  function seen(value: unknown): unknown {
    const { message } = isRecord(value) ? value : {};
    if (!isRecord(message)) return value;
    const { author, ...rest } = message;
    const id = isRecord(author) && typeof author["id"] === "string" ? author["id"] : OWNER;
    if (id !== viewer?.me) return { ...(value as object), message: { ...rest, author: named(id) } };
    return author === undefined ? value : { ...(value as object), message: rest };
  }

  function renamed(value: unknown): unknown {
    const { message } = isRecord(value) ? value : {};
    const { author } = isRecord(message) ? message : {};
    if (!isRecord(author) || typeof author["id"] !== "string") return value;
    const now = named(author["id"]);
    if (isSame(now, author)) return value;
    return { ...(value as object), message: { ...(message as object), author: now } };
  }

  function named(id: string): object {
    const name = Object.hasOwn(names, id) ? names[id] : undefined;
    return { id, ...(typeof name === "string" && { name }) };
  }
}

function namesIn(value: unknown): Readonly<Record<string, unknown>> | undefined {
  const { names } = isRecord(value) ? value : {};
  return isRecord(names) ? names : undefined;
}
