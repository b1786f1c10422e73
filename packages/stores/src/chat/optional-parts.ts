// the parts of a chat that a text chat without tools does not need: one file, because most chats that need one need more

export { readImageURLs } from "./attachments.js";
export { decideCall } from "./decisions.js";
export { applyPrepareMessages, createHistory } from "./history.js";
export { createGrowingJSON, createJSONParts, parseOutput } from "./structured-output.js";
export { createToolCalls } from "./tool-calls.js";
