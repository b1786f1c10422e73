import type { Store } from "@sluice/core";
import { createPageStore } from "../store.js";

let kept: readonly string[] = [];
const store = createPageStore(() => kept);

/** The notes that the model was allowed to save. They are gone when the page is left. */
export const notes: Store<readonly string[]> = {
  getSnapshot: store.getSnapshot,
  subscribe: store.subscribe,
};

/** Keeps a note; returns how many there are then. */
export function keepNote(text: string): number {
  kept = [...kept, text];
  store.flush();
  return kept.length;
}

/** Throws a note away. */
export function dropNote(place: number): void {
  kept = kept.filter((_, other) => other !== place);
  store.flush();
}
