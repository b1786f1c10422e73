import { atom, type WritableAtom } from "nanostores";
import { useSyncExternalStore } from "react";

/** Creates a value that the browser keeps between visits. `isValid` checks what was kept. */
export function keptAtom<State>(
  key: string,
  initial: State,
  isValid: (kept: unknown) => kept is State,
): WritableAtom<State> {
  const value = atom(recall());
  value.listen((state) => {
    try {
      localStorage.setItem(key, JSON.stringify(state));
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
