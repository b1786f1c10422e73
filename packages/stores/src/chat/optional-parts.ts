// loaded on demand: a text chat without tools needs none of these. One file, because most other chats need several

export { readImageURLs } from "./attachments.js";
export { decideCall } from "./decisions.js";
export { applyPrepareMessages, createHistory } from "./history.js";
export { createJSONParts, createJSONReader, parseOutput } from "./structured-output.js";
export { createToolCalls } from "./tool-calls.js";
