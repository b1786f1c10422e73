/* What most streams do not have: tool calls, errors, text that is not an event, and a stop. Pages load it later. */

export { sendRequest } from "../../transport/send-request.js";
export { createCallReader } from "./call-reader.js";
export { createSpecialReader } from "./special-reader.js";
