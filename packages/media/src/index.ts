export {
  type ArchivedMedia,
  type ArchivedMediaQuery,
  archivedMedia,
  type DataURIOptions,
  type EncodeProgress,
  toDataURI,
} from "@sluice/core/internal/media";
export {
  type CheckListOptions,
  type CheckOptions,
  checkMedia,
  checkMediaList,
  type MediaEntry,
} from "./checks/check.js";
export { checkVideoMedia, type VideoMediaOptions } from "./checks/check-video-media.js";
export { type Mediabunny, measureWith } from "./checks/container.js";
export { type FitOptions, type FittedImage, fitImage, type ImageChange } from "./checks/fit.js";
export type { MediaKind } from "./checks/formats.js";
export { type MediaLimits, type MediaUse, mediaLimits } from "./checks/limits.js";
export { type MediaProbe, type ProbeOptions, probeMedia } from "./checks/probe.js";
export { type FetchMediaOptions, fetchMedia } from "./fetch-media.js";
export { type ImageToolOptions, imageTool } from "./tools/image-tool.js";
export { type VideoToolOptions, videoTool } from "./tools/video-tool.js";
export {
  type UploadedMedia,
  type UploadOptions,
  type UploadProgress,
  uploadMedia,
} from "./uploads/upload.js";
export {
  createUploadStore,
  type UploadState,
  type UploadStore,
  type UploadStoreOptions,
} from "./uploads/upload-store.js";
export { type UploadsOptions, uploads } from "./uploads/uploads.js";
