import type { Store } from "@sluice/core";
import { useSyncExternalStore } from "react";

/** A value of this page with subscribers. */
export interface Value<State> extends Store<State> {
  readonly set: (next: State | ((state: State) => State)) => void;
}

/** Creates a value; `useValue` shows it in a component. */
export function createValue<State>(initial: State): Value<State> {
  const listeners = new Set<() => void>();
  let state = initial;
  return {
    getSnapshot: () => state,
    subscribe(listener) {
      // wrapped, so that a listener that subscribes twice is notified until both have ended
      const own = () => listener();
      listeners.add(own);
      return () => listeners.delete(own);
    },
    set(next) {
      const changed = next instanceof Function ? next(state) : next;
      if (Object.is(changed, state)) return;
      state = changed;
      for (const notify of [...listeners]) notify();
    },
  };
}

/** Creates a value that the browser keeps between visits. `isValid` checks what was kept. */
export function createKeptValue<State>(
  key: string,
  initial: State,
  isValid: (kept: unknown) => kept is State,
): Value<State> {
  const value = createValue(recall());
  value.subscribe(() => {
    try {
      localStorage.setItem(key, JSON.stringify(value.getSnapshot()));
    } catch {
      // private windows and full disks: the value holds until the page is left
    }
  });
  return value;

  function recall(): State {
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
      return isValid(kept) ? kept : initial;
    } catch {
      return initial;
    }
  }
}

/** Shows a value. */
export function useValue<State>({ subscribe, getSnapshot }: Store<State>): State {
  return useSyncExternalStore(subscribe, getSnapshot);
}

/** Says if a media query holds now: `(width >= 48rem)`. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (onChange) => {
      const list = matchMedia(query);
      list.addEventListener("change", onChange);
      return () => list.removeEventListener("change", onChange);
    },
    () => matchMedia(query).matches,
  );
}

/** Says if the browser has a network. */
export function useOnline(): boolean {
  return useSyncExternalStore(
    (onChange) => {
      const changes = new AbortController();
      for (const type of ["online", "offline"]) addEventListener(type, onChange, { signal: changes.signal });
      return () => changes.abort();
    },
    () => navigator.onLine,
  );
}
