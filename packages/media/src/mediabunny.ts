import type { MediaParser } from "./checks/container.js";

/**
 * Measures videos and audio files: the option `parser` of `probeMedia`, `checkMedia`, `checkRequestMedia`,
 * `uploadMedia` and `uploads`. The first such file loads mediabunny, an optional peer dependency: `npm install
 * mediabunny`.
 *
 * @example
 * ```ts
 * import { probeMedia } from "@sluice/media";
 * import { mediabunny } from "@sluice/media/mediabunny";
 *
 * export const readDuration = async (file: File) =>
 *   (await probeMedia(file, { parser: mediabunny })).durationSeconds;
 * ```
 */
export const mediabunny: MediaParser = () => import("./checks/mediabunny-names.js");
