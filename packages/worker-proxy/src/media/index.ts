export type { EndedTask } from "./archive.js";
export type { MediaBucket, MultipartUpload, StoredFile, UploadedPart } from "./bucket.js";
export type { FileType } from "./file-type.js";
export { mediaIndex } from "./media-index.js";
export { type MediaStore, mediaStore } from "./media-store.js";
export type { ArchiveOptions, MediaStoreOptions } from "./options.js";
export type { FilePage, UserFile } from "./user-files.js";
