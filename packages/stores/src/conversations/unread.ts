import type { Client, RecordStorage } from "@sluice/core";
import { createPagePresence } from "@sluice/core/extend";
import { reportStorageFailure } from "../base/platform-limits.js";
import { COLLECTION } from "./records.js";

/** Prefixes of record keys: a server writes the newest version of a conversation, pages write the shown version. */
const NEWEST = "~news/";
const SEEN = "~seen/";

/** Unread state of a user's conversations, shared by all devices. */
export interface UnreadState {
  /** Takes a record of the list. Returns false for the record of a conversation. */
  readonly take: (key: string, value: unknown) => boolean;
  readonly isUnread: (id: string) => boolean;
  /** Returns the time of the newest message in Unix milliseconds; 0 if unknown. */
  readonly getTime: (id: string) => number;
  /** Notes that a conversation is shown, until the returned function is called. */
  readonly show: (id: string) => () => void;
  readonly clear: () => void;
}

interface Newest {
  readonly at: number;
  readonly time: number;
}

/** Creates the unread state of a list. A server writes the newest versions: without one, nothing is unread. */
export function createUnreadState(client: Client, storage: RecordStorage, onChange: () => void): UnreadState {
  const newest = new Map<string, Newest>();
  const seen = new Map<string, number>();
  const shown: string[] = [];
  const presence = createPagePresence(() => false);
  let unsubscribe: (() => void) | undefined;
  return {
    take(key, value) {
      if (key.startsWith(NEWEST)) take(key.slice(NEWEST.length), parseNewest(value));
      else if (key.startsWith(SEEN)) raise(key.slice(SEEN.length), parseNewest(value).at);
      else return false;
      return true;
    },
    isUnread: (id) => (newest.get(id)?.at ?? 0) > (seen.get(id) ?? 0),
    getTime: (id) => newest.get(id)?.time ?? 0,
    show(id) {
      shown.push(id);
      unsubscribe ??= presence.subscribe(() => {
        for (const each of shown) note(each);
      });
      note(id);
      return () => {
        const at = shown.indexOf(id);
        if (at === -1) return;
        shown.splice(at, 1);
        if (shown.length > 0) return;
        unsubscribe?.();
        unsubscribe = undefined;
      };
    },
    clear() {
      newest.clear();
      seen.clear();
    },
  };

  function take(id: string, version: Newest): void {
    newest.set(id, version);
    if (shown.includes(id)) note(id);
  }

  function raise(id: string, at: number): void {
    seen.set(id, Math.max(at, seen.get(id) ?? 0));
  }

  /** Notes the shown version, for all devices. */
  function note(id: string, version = 0): void {
    if (presence.absence === "hidden") return;
    const at = Math.max(version, newest.get(id)?.at ?? 0);
    if (at <= (seen.get(id) ?? 0)) return;
    raise(id, at);
    onChange();
    storage
      .write(COLLECTION, new Map([[SEEN + id, { at }]]))
      .catch((error) => reportStorageFailure(client, error));
  }
}

function parseNewest(value: unknown): Newest {
  const { at, time } = (value ?? {}) as { readonly at?: unknown; readonly time?: unknown };
  return { at: isTime(at) ? at : 0, time: isTime(time) ? time : 0 };
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
