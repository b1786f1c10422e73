// the code for JSON of a model: structured output and tool calls. One file, because chats that need one part load most

export { decideCall } from "./decisions.js";
export { createGrowingJSON } from "./growing-json.js";
export { createJSONParts, parseOutput } from "./structured-output.js";
export { createToolCalls } from "./tool-calls.js";
