import type { Store } from "@sluice/core";

/** A snapshot of a store, numbered in order. */
export interface Version<State> {
  readonly state: State;
  readonly number: number;
}

/**
 * The snapshots of one store as React shows them. All components of a render pass show the same version, although the
 * store may change while React spreads a transition over many frames.
 */
export interface PassView<State> {
  /** The first version, which a server has rendered. */
  readonly first: Version<State>;
  /** Returns the current version. */
  readNewest(): Version<State>;
  /** Returns the version of the last urgent change. */
  readUrgent(): Version<State>;
  /** Returns the version for a component that mounts: the same one during the whole pass. */
  getMountVersion(): Version<State>;
  /** Records that a component shows a version. */
  commit(version: Version<State>): void;
  /** Records if a component waits for another version. */
  wait(component: object, isBehind: boolean): void;
}

/** Longest time of a pass without a commit, in milliseconds. React does not report the passes that it discards. */
const MAX_PASS_MS = 5000;

/** The views by `getSnapshot`, which all stores of one `withOptions` share. */
const views = new WeakMap<object, PassView<unknown>>();

/**
 * Returns the view of a store. Call it when the store is created: the first call's snapshot is `first`.
 *
 * @param selectUrgent selects the part of the state whose changes are urgent
 */
export function getPassView<State>(
  { getSnapshot }: Pick<Store<State>, "getSnapshot">,
  selectUrgent: (state: State) => unknown,
): PassView<State> {
  const known = views.get(getSnapshot) as PassView<State> | undefined;
  if (known) return known;
  const view = createPassView(getSnapshot, selectUrgent);
  views.set(getSnapshot, view);
  return view;
}

function createPassView<State>(
  getSnapshot: () => State,
  selectUrgent: (state: State) => unknown,
): PassView<State> {
  const first: Version<State> = { state: getSnapshot(), number: 0 };
  let last = first;
  let lastUrgent = first;
  let lastCommitted = first;
  /** The version of the current pass; undefined between two passes. */
  let pass: { readonly version: Version<State>; readonly startedAt: number } | undefined;
  const waiting = new Set<object>();
  return { first, readNewest, readUrgent, getMountVersion, commit, wait };

  function readNewest(): Version<State> {
    const state = getSnapshot();
    if (state !== last.state) last = { state, number: last.number + 1 };
    if (selectUrgent(state) !== selectUrgent(lastUrgent.state)) lastUrgent = last;
    return last;
  }

  function readUrgent(): Version<State> {
    readNewest();
    return lastUrgent;
  }

  function getMountVersion(): Version<State> {
    const now = performance.now();
    // mounted components that wait for a newer version do not render again in this pass
    if (!pass || now - pass.startedAt > MAX_PASS_MS)
      pass = { version: waiting.size === 0 ? readNewest() : lastCommitted, startedAt: now };
    return pass.version;
  }

  function commit(version: Version<State>): void {
    pass = undefined;
    lastCommitted = pickNewer(version, lastCommitted);
  }

  function wait(component: object, isBehind: boolean): void {
    if (isBehind) waiting.add(component);
    else waiting.delete(component);
  }
}

/** Returns the later of two versions. */
export function pickNewer<State>(a: Version<State>, b: Version<State>): Version<State> {
  return a.number >= b.number ? a : b;
}
