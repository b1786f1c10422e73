import type { Store } from "@sluice/core";
import { useReducer, useSyncExternalStore } from "react";

/**
 * Shows a store that its component changes: returns the state, and a function to call after each change. React hears of
 * stores only after it has painted. What a user enters before, the handler of the next event would not know.
 */
export function useOwnStore<State>({ subscribe, getSnapshot }: Store<State>): [State, changed: () => void] {
  const [, render] = useReducer((count: number) => count + 1, 0);
  return [useSyncExternalStore(subscribe, getSnapshot, getSnapshot), render];
}
