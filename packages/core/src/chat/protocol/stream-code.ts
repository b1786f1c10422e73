/*
 * The code that a page loads with its first stream: it reads the response, and repeats a failed request. One file,
 * because each further file repeats code.
 */

export { readRefusal, repeat } from "../../transport/failures.js";
export { createCallReader } from "./call-reader.js";
export { createResponseReader } from "./response-reader.js";
export { createStreamParser } from "./stream-parser.js";
