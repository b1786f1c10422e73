/*
 * What reads files. Imported later alone: a dynamic import of the whole package, from which the client takes `uploads`,
 * would load it at once.
 */

import { measureWith } from "@sluice/media";

// videos and sounds are measured by mediabunny, which is loaded for the first one
measureWith(() => import("@sluice/media/mediabunny"));

export {
  archivedMedia,
  checkMedia,
  checkVideoMedia,
  fitImage,
  probeMedia,
  toDataURI,
  uploadMedia,
} from "@sluice/media";
