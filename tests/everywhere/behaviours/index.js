import { chatStore, tools } from "./conversations.js";
import { errors } from "./errors.js";
import { asset, images, media, video } from "./generations.js";
import { abort, backpressure, retry, stream } from "./streams.js";

/*
 * What has to work wherever the packages run. Plain JavaScript on `fetch` and the packages alone, so that each runtime,
 * browser and bundler runs the same files.
 */

/**
 * Each behaviour, by its name in `docs/supported-platforms.md`.
 *
 * @type {Readonly<Record<string, (setup: import("./setup.js").Setup) => Promise<void>>>}
 */
export const behaviours = {
  stream,
  abort,
  backpressure,
  retry,
  tools,
  images,
  video,
  asset,
  media,
  "chat store": chatStore,
  errors,
};

/**
 * Runs all behaviours, one after the other. A problem is the text of what a behaviour threw.
 *
 * @param {import("./setup.js").Setup} setup
 * @returns {Promise<{ name: string, problem?: string }[]>}
 */
export async function runBehaviours(setup) {
  const report = [];
  for (const [name, behaviour] of Object.entries(behaviours)) {
    const problem = await behaviour(setup).then(
      () => undefined,
      (error) => `${error}\n${error?.stack ?? ""}`,
    );
    report.push(problem === undefined ? { name } : { name, problem });
  }
  return report;
}
