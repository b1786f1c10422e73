/*
 * The code that a page loads beside its first request: it reads tool calls, errors and text that is not an event, and
 * repeats a failed request. One file, because each further file repeats code.
 */

export { readRefusal, repeat } from "../../transport/failures.js";
export { createBodyParser } from "./body-parser.js";
export { createCallReader } from "./call-reader.js";
