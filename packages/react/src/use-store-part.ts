import { useEffect, useState, useSyncExternalStore } from "react";
import { newerOf, type PassView } from "./pass-view.js";

/** A store whose parts components show. */
export interface ViewedStore<State> {
  readonly subscribe: (listener: () => void) => () => void;
  /** Returns the view of the store that is there now. */
  readonly view: () => PassView<State>;
}

/** The last version that each component has given to React: an update that it has not rendered yet is given once. */
const queued = new WeakMap<object, object>();

/** Place of the first state while the page hydrates and the store has a newer one. */
const HYDRATING = Symbol();

/**
 * Shows a part of a store's state. `select` must return the same object until something in it changes.
 *
 * A change of the headline renders at once. Any other change renders when React has time for it: each piece of an answer
 * would otherwise restart a transition that is in progress, and the transition could not end before the answer. All
 * components of a render pass show one version of the state, and a page that hydrates shows that of its server.
 */
export function useStorePart<State, Part>(
  { subscribe, view: viewNow }: ViewedStore<State>,
  select: (state: State) => Part,
): Part {
  const view = viewNow();
  const urgentPart = () => select(viewNow().urgent().state);
  const seen = useSyncExternalStore<Part | typeof HYDRATING>(subscribe, urgentPart, () =>
    view.newest() === view.first ? urgentPart() : HYDRATING,
  );
  const [kept, keep] = useState(() => ({ view, version: view.mounting() }));
  const own = kept.view === view ? kept.version : view.mounting();
  const version = seen === HYDRATING ? view.first : newerOf(own, view.urgent());
  const shown = select(version.state);
  useEffect(() => {
    const catchUp = () => {
      const current = viewNow();
      const newest = current.newest();
      const part = select(newest.state);
      const isBehind = part !== shown;
      current.waits(keep, isBehind);
      // an urgent change is rendered by the subscription of React
      const isUrgent = newest === current.urgent() && part !== seen;
      if (!isBehind || isUrgent || queued.get(keep) === newest) return;
      queued.set(keep, newest);
      keep({ view: current, version: newest });
    };
    view.committed(version);
    // the store may have changed since the render
    catchUp();
    const unsubscribe = subscribe(catchUp);
    return () => {
      unsubscribe();
      view.waits(keep, false);
    };
  });
  return shown;
}
