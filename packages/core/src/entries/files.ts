/*
 * The files of requests and results: data URIs, formats by their first bytes, and the copies that a proxy stores. For
 * authors of add-ons; apps find these functions in `@sluice/media`. A separate entry, because pages load this code when
 * they need it. The names are as stable as those of `@sluice/core`.
 */

export { type ArchivedMedia, getArchivedMedia } from "../archive/archived.js";
export { readBytes } from "../files/bytes.js";
export { readSignedType, toDataURI } from "../files/data-uri.js";
export { findSignedType } from "../files/signatures.js";
