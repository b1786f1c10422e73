import { indexedDBStorage } from "@sluice/core";

/** Where conversations are kept between visits. */
export const storage = indexedDBStorage();

/** What this browser kept for us; undefined where it kept nothing, or keeps nothing for anybody. */
export function recall(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** All that this browser kept for us under keys that begin with `prefix`. */
export function recallAll(prefix: string): ReadonlyMap<string, string> {
  try {
    return new Map(Object.entries(localStorage).filter(([key]) => key.startsWith(prefix)));
  } catch {
    return new Map();
  }
}

/** Keeps `value` for the next visit, where the browser allows it; undefined is forgotten. */
export function remember(key: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // private windows and full disks: the choice holds until the page is left
  }
}
