/*
 * The core and all of this package for a page without a bundler, in one file: `dist/browser.js`. Only mediabunny, which
 * measures videos and audio files, is a file of its own: see `measureWith`.
 */

export * from "@sluice/core";
export * from "./index.js";
