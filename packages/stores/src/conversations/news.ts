import type { Client, RecordStorage } from "@sluice/core";
import { createPagePresence, reportStorageFailure } from "@sluice/core/internal";
import { COLLECTION } from "./records.js";

/** Beginnings of the keys by which a server says how new a conversation is, and the pages what was shown. */
const NEWS = "~news/";
const SEEN = "~seen/";

/** News in the conversations of a user, over all devices. */
export interface ConversationNews {
  /** Takes a record of the list. Returns false for one of a conversation itself. */
  readonly take: (key: string, value: unknown) => boolean;
  readonly isUnread: (id: string) => boolean;
  /** Time of the newest message; 0 where nothing is known of it. Unix milliseconds. */
  readonly timeOf: (id: string) => number;
  /** Notes that a conversation is shown, until the returned function is called. */
  readonly show: (id: string) => () => void;
  readonly clear: () => void;
}

interface NewsEvents {
  /** Returns true while this page streams an answer of the conversation. */
  readonly isAnswering: (id: string) => boolean;
  readonly onChange: () => void;
}

/** Time in which the last changes of a conversation that is left are sent, in milliseconds. */
const TRAILING_MS = 10_000;

interface Newest {
  readonly at: number;
  readonly time: number;
}

/** Creates the news of a list. Only a server writes them, so that there are none in a storage of one browser. */
export function createConversationNews(
  client: Client,
  storage: RecordStorage,
  { isAnswering, onChange }: NewsEvents,
): ConversationNews {
  const news = new Map<string, Newest>();
  const seen = new Map<string, number>();
  const shown: string[] = [];
  const presence = createPagePresence(() => false);
  let leave: (() => void) | undefined;
  return {
    take(key, value) {
      if (key.startsWith(NEWS)) take(key.slice(NEWS.length), newestIn(value));
      else if (key.startsWith(SEEN)) raise(key.slice(SEEN.length), newestIn(value).at);
      else return false;
      return true;
    },
    isUnread: (id) => (news.get(id)?.at ?? 0) > (seen.get(id) ?? 0),
    timeOf: (id) => news.get(id)?.time ?? 0,
    show(id) {
      shown.push(id);
      leave ??= presence.subscribe(() => {
        for (const each of shown) note(each);
      });
      note(id);
      return () => {
        const at = shown.indexOf(id);
        if (at === -1) return;
        // what is here was shown, also where the server has not said yet that it is new
        const ms = isAnswering(id) ? 0 : TRAILING_MS;
        storage.devices?.noteShown?.(`chat/${id}`, ms, (version) => note(id, version));
        shown.splice(at, 1);
        if (shown.length > 0) return;
        leave?.();
        leave = undefined;
      };
    },
    clear() {
      news.clear();
      seen.clear();
    },
  };

  function take(id: string, newest: Newest): void {
    news.set(id, newest);
    if (shown.includes(id)) note(id);
  }

  function raise(id: string, at: number): void {
    seen.set(id, Math.max(at, seen.get(id) ?? 0));
  }

  /** Notes what was shown, for all devices. */
  function note(id: string, version = 0): void {
    if (presence.absence === "hidden") return;
    const at = Math.max(version, news.get(id)?.at ?? 0);
    if (at <= (seen.get(id) ?? 0)) return;
    raise(id, at);
    onChange();
    storage
      .write(COLLECTION, new Map([[SEEN + id, { at }]]))
      .catch((error) => reportStorageFailure(client, error));
  }
}

function newestIn(value: unknown): Newest {
  const { at, time } = (value ?? {}) as { readonly at?: unknown; readonly time?: unknown };
  return { at: isTime(at) ? at : 0, time: isTime(time) ? time : 0 };
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
