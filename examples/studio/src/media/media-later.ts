// imported later alone: a dynamic import of the whole package, from which the client takes `uploads`, would load it at once
export {
  archivedMedia,
  checkMedia,
  checkVideoMedia,
  fitImage,
  measureWith,
  probeMedia,
  toDataURI,
  uploadMedia,
} from "@sluice/media";
