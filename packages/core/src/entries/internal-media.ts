// Entry for `@sluice/media` alone. Apps must not import it: it may change in any version.

export { type ArchivedMedia, getArchivedMedia } from "../archive/archived.js";
export { type Backoff, createBackoff } from "../base/backoff.js";
export { atLimit, openSpan, unlessAborted } from "../base/clock.js";
export { assertClient } from "../base/note-options.js";
export { readerOf } from "../base/store.js";
export { assertBlob, type Bytes, bytesOf, hasText, textAt, viewOf } from "../files/bytes.js";
export { signedType, toDataURI } from "../files/data-uri.js";
export { formatOf, HEAD_BYTES, type SignedFormat, signedTypes } from "../files/signatures.js";
export { isRemembered } from "../transport/ask-offers.js";
export { excerpt } from "../transport/error-response.js";
export { connectionError, isClosedRoute, withRoute } from "../transport/failure.js";
export { readHeaders } from "../transport/headers.js";
export { isTransient } from "../transport/is-transient.js";
export { pausesOf } from "../transport/pauses.js";
export { bodyReaderOf, readBody, readText } from "../transport/read-body.js";
export { errorOf } from "../transport/refusal.js";
export { resolveAddress } from "../transport/resolve-address.js";
export {
  closeExchange,
  type Exchange,
  emitStep,
  identityOf,
  openExchange,
} from "../transport/send.js";
export { asError, describeThrown } from "../vocabulary/errors.js";
