import { CustomSource, Input, MP3, MP4, QTFF, WAVE } from "mediabunny";
import type { Mediabunny } from "./checks/container.js";

/**
 * The part of mediabunny that measures files, for `measureWith` of `@sluice/media`. Nothing else of this package imports the
 * package: an app without it is built without a warning, and one with it has no more of it in its bundle than these names.
 *
 * @example
 * ```ts
 * import { measureWith } from "@sluice/media";
 *
 * measureWith(() => import("@sluice/media/mediabunny"));
 * ```
 */
export const mediabunny: Mediabunny = { CustomSource, Input, MP3, MP4, QTFF, WAVE };
