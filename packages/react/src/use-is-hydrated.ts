import { useSyncExternalStore } from "react";

const subscribeNever = () => () => {};

/** Returns false on a server and during hydration, which must render the same. */
export function useIsHydrated(): boolean {
  return useSyncExternalStore(
    subscribeNever,
    () => true,
    () => false,
  );
}
