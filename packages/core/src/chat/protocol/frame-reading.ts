// loaded while a request is out: what reads frames faster, finds errors in them, and their place in a kept answer

export { createEventCursor } from "./event-cursor.js";
export { createFrameParser } from "./frame-json.js";
export { errorFieldsOfText, isErrorEvent, reportedErrorOf } from "./reported-error.js";
export { createStrayLines } from "./stray-lines.js";
