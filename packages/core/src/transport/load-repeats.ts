/** The module instead of its promise: in a Worker, a request must not wait for a promise of another request. */
let repeats: Repeats | undefined;
type Repeats = typeof import("./repeat.js");

/**
 * Loads the code that reads rejections and repeats requests; undefined if loading fails. Few requests need it, so a
 * page loads it beside the first request, and a server with the first failure.
 */
export async function loadRepeats(): Promise<Repeats | undefined> {
  return repeats ?? import("./repeat.js").then((module) => (repeats = module)).catch(() => undefined);
}
