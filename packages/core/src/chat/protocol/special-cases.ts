/* What most streams do not have: tool calls, errors, and text that is not an event. Pages load it later. */

export { createCallReader } from "./call-reader.js";
export { createSpecialReader } from "./special-reader.js";
