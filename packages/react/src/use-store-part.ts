import { useEffect, useState, useSyncExternalStore } from "react";
import { type PassView, pickNewer } from "./render-pass.js";

/** A store with a view for React. */
export interface ViewedStore<State> {
  readonly subscribe: (listener: () => void) => () => void;
  /** Returns the current view. */
  readonly getView: () => PassView<State>;
}

/** The last version that each component has queued in React, to queue each version once. */
const queuedVersions = new WeakMap<object, object>();

/** Marks a hydration during which the store already has a newer state. */
const HYDRATING = Symbol();

/**
 * Shows a part of a store's state. `select` must return the same object until something in it changes.
 *
 * An urgent change renders at once. Other changes render when React has time: otherwise each delta would
 * restart a transition in progress, and the transition could not end before the response. All components of a render
 * pass show one version of the state. During hydration, they show the server's version.
 */
export function useStorePart<State, Part>(
  { subscribe, getView }: ViewedStore<State>,
  select: (state: State) => Part,
): Part {
  const view = getView();
  const selectUrgent = () => select(getView().readUrgent().state);
  const subscribedPart = useSyncExternalStore<Part | typeof HYDRATING>(subscribe, selectUrgent, () =>
    view.readNewest() === view.first ? selectUrgent() : HYDRATING,
  );
  const [rendered, setRendered] = useState(() => ({ view, version: view.getMountVersion() }));
  const renderedVersion = rendered.view === view ? rendered.version : view.getMountVersion();
  const version = subscribedPart === HYDRATING ? view.first : pickNewer(renderedVersion, view.readUrgent());
  const shownPart = select(version.state);
  useEffect(() => {
    const catchUp = () => {
      const current = getView();
      const newest = current.readNewest();
      const part = select(newest.state);
      const isBehind = part !== shownPart;
      current.wait(setRendered, isBehind);
      // React's subscription renders an urgent change
      const isUrgent = newest === current.readUrgent() && part !== subscribedPart;
      if (!isBehind || isUrgent || queuedVersions.get(setRendered) === newest) return;
      queuedVersions.set(setRendered, newest);
      setRendered({ view: current, version: newest });
    };
    view.commit(version);
    // the store may have changed since the render
    catchUp();
    const unsubscribe = subscribe(catchUp);
    return () => {
      unsubscribe();
      view.wait(setRendered, false);
    };
  });
  return shownPart;
}
