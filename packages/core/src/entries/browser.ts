/*
 * All that a page without a bundler needs, in one file with its dependencies: `dist/browser.js`. Only mediabunny, which
 * measures videos and audio files, is a file of its own: see `measureWith`.
 */

export * from "./index.js";
export * from "./media.js";
