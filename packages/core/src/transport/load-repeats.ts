/** The module instead of its promise: in a Worker, a request must not wait for a promise of another request. */
let repeats: Repeats | undefined;
type Repeats = typeof import("./repeat.js");

/**
 * Loads the code that reads rejections and repeats requests; undefined if loading fails. Few requests need it, so it
 * loads with the first failure, or when a page is idle after the first response.
 */
export async function loadRepeats(): Promise<Repeats | undefined> {
  return repeats ?? import("./repeat.js").then((module) => (repeats = module)).catch(() => undefined);
}

let isPreloaded = false;

/** Preloads that code in an idle page, because the network may fail later. Servers have it locally. */
export function preloadRepeats(): void {
  if (isPreloaded || globalThis.document === undefined) return;
  isPreloaded = true;
  // Safari lacks `requestIdleCallback`
  (globalThis.requestIdleCallback ?? setTimeout)(() => loadRepeats());
}
