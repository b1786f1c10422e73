"use client";
import type { Store } from "@sluice/core";
import { useEffect, useReducer, useSyncExternalStore } from "react";

/**
 * What `select` finds in a store's state; it gives the same object until something in it changes.
 *
 * A change of `headline` renders at once. Any other renders when React has time for it: an answer that grows would
 * otherwise start a transition that is under way again with each piece, and hold navigation up until its end.
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
    // between rendering and now it may have changed
    catchUp();
    return subscribe(catchUp);
  });
  return shown;
}

const never = () => () => {};

/** False on a server and while its page is taken over, when what is rendered has to be the same. */
export function useIsHydrated(): boolean {
  return useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
}
