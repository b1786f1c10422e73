export {
  type CheckListOptions,
  type CheckOptions,
  checkMedia,
  checkMediaList,
  type MediaEntry,
} from "../media/check.js";
export { type Mediabunny, measureWith } from "../media/container.js";
export { type DataURIOptions, type EncodeProgress, toDataURI } from "../media/data-uri.js";
export { type FitOptions, type FittedImage, fitImage, type ImageChange } from "../media/fit.js";
export type { MediaKind } from "../media/formats.js";
export { type MediaLimits, type MediaUse, mediaLimits } from "../media/limits.js";
export { type MediaProbe, type ProbeOptions, probeMedia } from "../media/probe.js";
export { type ArchivedMedia, type ArchivedMediaQuery, archivedMedia } from "../uploads/archived.js";
export { type FetchMediaOptions, fetchMedia } from "../uploads/fetch-media.js";
export {
  createUploadStore,
  type UploadState,
  type UploadStore,
  type UploadStoreOptions,
} from "../uploads/store.js";
export {
  type UploadedMedia,
  type UploadOptions,
  type UploadProgress,
  uploadMedia,
} from "../uploads/upload.js";
export { checkVideoMedia, type VideoMediaOptions } from "../videos/check-media.js";
