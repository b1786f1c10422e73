/*
 * The part of mediabunny that measures files, for `measureWith` of `@sluice/core/media`. Nothing else of the client imports
 * the package: an app without it is built without a warning, and one that names these alone has no more in its bundle.
 */

export { CustomSource, Input, MP3, MP4, QTFF, WAVE } from "mediabunny";
