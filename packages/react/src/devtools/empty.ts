import type { devtoolsFetch as tap } from "./tap.js";

/* The entry in production builds, and where no bundler says that it builds for development. */

/** Shows nothing. */
export function SluiceDevtools(): null {
  return null;
}

/** Returns `fetch` unchanged. */
export const devtoolsFetch: typeof tap = (fetch) => fetch;
