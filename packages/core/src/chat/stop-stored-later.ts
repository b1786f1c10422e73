// only imported dynamically: bundlers warn about a module that is imported both statically and dynamically
export { stopStored } from "./stop-stored.js";
