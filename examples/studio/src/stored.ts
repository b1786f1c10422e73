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

/** Keeps `value` for the next visit, where the browser allows it. */
export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // private windows and full disks: the choice holds until the page is left
  }
}
