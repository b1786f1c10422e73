export {
  type CheckListOptions,
  type CheckOptions,
  checkMedia,
  checkMediaList,
  type MediaEntry,
} from "./check.js";
export { type DataURIOptions, type EncodeProgress, toDataURI } from "./data-uri.js";
export { type FitOptions, type FittedImage, fitImage, type ImageChange } from "./fit.js";
export type { MediaKind } from "./formats.js";
export { inputAndOutputSeconds, type MediaLimits, type MediaUse, mediaLimits } from "./limits.js";
export { type MediaProbe, type ProbeOptions, probeMedia } from "./probe.js";
export { checkVideoMedia, type VideoMediaOptions } from "./video-request.js";
