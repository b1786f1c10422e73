"use client";
import type { Store } from "@sluice/core";
import { useEffect, useReducer, useSyncExternalStore } from "react";

/**
 * Shows a part of a store's state. `select` must return the same object until something in it changes.
 *
 * A change of `headline` renders at once. Any other change renders when React has time for it. Otherwise each piece of
 * an answer would restart a transition that is in progress, and the transition could not end before the answer.
 */
export function useStorePart<State, Part>(
  { subscribe, getSnapshot }: Store<State>,
  select: (state: State) => Part,
  headline: (state: State) => unknown,
): Part {
  const [, render] = useReducer((count: number) => count + 1, 0);
  const newest = () => headline(getSnapshot());
  const seen = useSyncExternalStore(subscribe, newest, newest);
  const shown = select(getSnapshot());
  useEffect(() => {
    const catchUp = () => {
      if (newest() === seen && select(getSnapshot()) !== shown) render();
    };
    // the store may have changed since the render
    catchUp();
    return subscribe(catchUp);
  });
  return shown;
}

const noSubscription = () => () => {};

/** Returns false on a server and during hydration, when both must render the same. */
export function useIsHydrated(): boolean {
  return useSyncExternalStore(
    noSubscription,
    () => true,
    () => false,
  );
}
