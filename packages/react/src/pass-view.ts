import type { Store } from "@sluice/core";

/** A snapshot of a store, with its place in their order. */
export interface Version<State> {
  readonly state: State;
  readonly nth: number;
}

/**
 * The snapshots of one store as React shows them. The components of a render pass show one version, though the store
 * goes on while React works: it may spread a transition over many frames.
 */
export interface PassView<State> {
  /** The version that the store was created with. A server has rendered it. */
  readonly first: Version<State>;
  /** Returns the version of now. */
  newest(): Version<State>;
  /** Returns the version of the last change that must not wait: that of the headline. */
  urgent(): Version<State>;
  /** Returns the version for a component that is mounted: the same one for all of a pass. */
  mounting(): Version<State>;
  /** Notes that a component shows a version. */
  committed(version: Version<State>): void;
  /** Notes that a component waits for another version, or no longer does. */
  waits(component: object, isBehind: boolean): void;
}

/** Longest time that a pass counts in which nothing is shown, in milliseconds. React tells of no pass that it drops. */
const LONGEST_PASS_MS = 5000;

const views = new WeakMap<object, PassView<unknown>>();

/**
 * Returns the view of a store. The stores that `withOptions` makes of one store share it. Call it when the store is
 * created: the snapshot of the first call is `first`.
 *
 * @param headline the part of the state whose change is shown at once
 */
export function passViewOf<State>(
  { getSnapshot }: Pick<Store<State>, "getSnapshot">,
  headline: (state: State) => unknown,
): PassView<State> {
  const known = views.get(getSnapshot) as PassView<State> | undefined;
  if (known) return known;
  const view = createPassView(getSnapshot, headline);
  views.set(getSnapshot, view);
  return view;
}

function createPassView<State>(
  getSnapshot: () => State,
  headline: (state: State) => unknown,
): PassView<State> {
  const first: Version<State> = { state: getSnapshot(), nth: 0 };
  let last = first;
  let lastUrgent = first;
  let lastCommitted = first;
  /** The version of the pass in which components are mounted; undefined between two passes. */
  let pass: { readonly version: Version<State>; readonly at: number } | undefined;
  const behind = new Set<object>();
  return { first, newest, urgent, mounting, committed, waits };

  function newest(): Version<State> {
    const state = getSnapshot();
    if (state !== last.state) last = { state, nth: last.nth + 1 };
    if (headline(state) !== headline(lastUrgent.state)) lastUrgent = last;
    return last;
  }

  function urgent(): Version<State> {
    newest();
    return lastUrgent;
  }

  function mounting(): Version<State> {
    const now = performance.now();
    // the components that are shown already are not rendered again in this pass if they wait for a newer version
    if (!pass || now - pass.at > LONGEST_PASS_MS)
      pass = { version: behind.size === 0 ? newest() : lastCommitted, at: now };
    return pass.version;
  }

  function committed(version: Version<State>): void {
    pass = undefined;
    lastCommitted = newerOf(version, lastCommitted);
  }

  function waits(component: object, isBehind: boolean): void {
    behind[isBehind ? "add" : "delete"](component);
  }
}

/** Returns the later one of two versions. */
export function newerOf<State>(one: Version<State>, other: Version<State>): Version<State> {
  return one.nth >= other.nth ? one : other;
}
