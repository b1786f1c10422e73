/* All of the client that a page without a bundler needs, in one file with its dependencies: `dist/browser.js`. */

export * from "./index.js";
