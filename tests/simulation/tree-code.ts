/** Runs the code of a React tree for one tab, with its own modules. */
export type TreeCode = (page: {
  /** Receives console errors. */
  readonly logError: (...line: readonly unknown[]) => void;
  /** Milliseconds for `performance.now`. */
  readonly now: () => number;
}) => typeof import("./tree.jsx") & {
  /** Element of a separate document. */
  readonly container: Element;
};

let known: TreeCode | undefined;

/** Gives the simulation the code of the trees. */
export function loadTrees(code: TreeCode): void {
  known = code;
}

export const runTreeCode: TreeCode = (page) => {
  if (!known) throw new Error("the code of the trees is not loaded");
  return known(page);
};
