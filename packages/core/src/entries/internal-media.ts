// Entry for `@sluice/media` alone. Apps must not import it: it may change in any version.

export { type ArchivedMedia, getArchivedMedia } from "../archive/archived.js";
export { type Backoff, createBackoff } from "../base/backoff.js";
export { callAtLimit, openSpan, rejectOnAbort } from "../base/clock.js";
export { assertClient } from "../base/note-options.js";
export { createReader } from "../base/store.js";
export { assertBlob, type Bytes, createView, hasText, readASCII, readBytes } from "../files/bytes.js";
export { readSignedType, toDataURI } from "../files/data-uri.js";
export { findFormat, HEAD_BYTES, type SignedFormat, signedTypes } from "../files/signatures.js";
export { excerpt } from "../transport/error-response.js";
export { addRouteAdvice, isClosedRoute, toConnectionError } from "../transport/failure.js";
export { isRemembered } from "../transport/fetch-offers.js";
export { readHeaders } from "../transport/headers.js";
export { isTransient } from "../transport/is-transient.js";
export { getPauses } from "../transport/pauses.js";
export { createBodyReader, readBody, readText } from "../transport/read-body.js";
export { readRefusal } from "../transport/refusal.js";
export { resolveAddress } from "../transport/resolve-address.js";
export {
  closeExchange,
  type Exchange,
  emitStep,
  openExchange,
  pickIdentity,
} from "../transport/send.js";
export { describeThrown, toError } from "../vocabulary/errors.js";
