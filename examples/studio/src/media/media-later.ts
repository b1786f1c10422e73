/*
 * What reads files. Imported later alone: a dynamic import of the whole package, from which the client takes `uploads`,
 * would load it at once.
 */

export {
  checkMedia,
  checkRequestMedia,
  fitImage,
  getArchivedMedia,
  probeMedia,
  toDataURI,
  uploadMedia,
} from "@sluice/media";
export { mediabunny } from "@sluice/media/mediabunny";
