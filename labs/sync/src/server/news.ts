import type { CollectionState } from "./record-tables.js";
import { fieldsOf } from "./texts.js";
import type { News } from "./wire.js";
import type { Taken } from "./writing.js";

/* Finished answers that a user may not have seen: the newest one is enough to say that there is one. */

/** Keys of the records in an index that say how new a conversation is, and up to where the user has been shown it. */
export const NEWS = "~news/";
const SEEN = "~seen/";

/** Notes the newest finished answer among changes, in the state that is about to be written. */
export function noteNews(state: CollectionState, changed: readonly Taken[]): void {
  const isAnswer = changed.some(({ value }) => {
    const message = fieldsOf(fieldsOf(value)["message"]);
    return message["role"] === "assistant" && message["outcome"] !== undefined;
  });
  if (isAnswer) state.news = state.version;
}

/** True for a key that is no conversation of the list. */
export function isNewsKey(key: string): boolean {
  return key.startsWith(NEWS) || key.startsWith(SEEN);
}

/** Opens what is new in the conversations of a user, in records of the list that all devices of the user get. */
export function openNews(put: (key: string, value: unknown) => boolean) {
  return {
    note(id: string, news: News): void {
      if (news.at > 0) put(NEWS + id, news);
    },
    forget(id: string): void {
      for (const key of [NEWS + id, SEEN + id]) put(key, null);
    },
  };
}
