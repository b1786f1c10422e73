import { useSyncExternalStore } from "react";

const noSubscription = () => () => {};

/** Returns false on a server and during hydration, when both must render the same. */
export function useIsHydrated(): boolean {
  return useSyncExternalStore(
    noSubscription,
    () => true,
    () => false,
  );
}
