import { useMemo, useSyncExternalStore } from "react";

/** Whether a media query holds, now and from now on. */
export function useMedia(query: string): boolean {
  const { subscribe, matches } = useMemo(() => watchMedia(query), [query]);
  return useSyncExternalStore(subscribe, matches);
}

function watchMedia(query: string) {
  const list = matchMedia(query);
  return {
    matches: () => list.matches,
    subscribe(onChange: () => void) {
      list.addEventListener("change", onChange);
      return () => list.removeEventListener("change", onChange);
    },
  };
}
