/*
 * What most streams do not need: tool calls, errors, text that is not an event, another attempt. Pages load it
 * beside the first request. One file, because each further file repeats code.
 */

export { readRefusal } from "../../transport/read-refusal.js";
export { repeat } from "../../transport/repeat.js";
export { createCallReader } from "./call-reader.js";
export { createSpecialReader } from "./special-reader.js";
