// only imported dynamically: bundlers warn about a module that is imported both statically and dynamically
export { readSignedType, toDataURI } from "./data-uri.js";
