import { createValue } from "./value.js";

/** Says if the page plays a lost connection. */
export const isCut = createValue(false);

let cable = new AbortController();

/** Fetches, unless the connection is cut; a cut ends what is under way as a lost network would. */
export async function fetchUnlessCut(request: Request): Promise<Response> {
  if (isCut.getSnapshot()) throw new TypeError("Failed to fetch");
  return globalThis.fetch(request, { signal: AbortSignal.any([request.signal, cable.signal]) });
}

/** Cuts the connection of the client for a while. */
export function cutConnection(ms: number): void {
  isCut.set(true);
  cable.abort(new TypeError("network error"));
  cable = new AbortController();
  setTimeout(() => isCut.set(false), ms);
}
