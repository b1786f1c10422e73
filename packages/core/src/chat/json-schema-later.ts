// only imported dynamically: bundlers warn about a module that is imported both statically and dynamically
export { writeJSONSchema } from "./json-schema.js";
