import { measureWith } from "@sluice/media";

// videos and sounds are measured by mediabunny, which is loaded for the first one
measureWith(() => import("@sluice/media/mediabunny"));

// imported later alone: a dynamic import of the whole package, from which the client takes `uploads`, would load it at once
export {
  archivedMedia,
  checkMedia,
  checkVideoMedia,
  fitImage,
  probeMedia,
  toDataURI,
  uploadMedia,
} from "@sluice/media";
