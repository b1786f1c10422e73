import type { devtoolsFetch as tap } from "./tap.js";

/* The entry in production builds, and for bundlers without a development condition. */

/** Shows nothing. */
export function SluiceDevtools(): null {
  return null;
}

/** Shows nothing. */
export function SluiceDevtoolsPanel(): null {
  return null;
}

/** Records nothing. */
export function recordCalls(): void {}

/** Plays no fault. */
export function playFault(): void {}

/** Returns `fetch` unchanged. */
export const devtoolsFetch: typeof tap = (fetch) => fetch;
