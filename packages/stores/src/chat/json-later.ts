// the code for JSON of a model: structured output and tool calls. One file, because chats that need one part load most

export { createPartialJSON } from "@sluice/core/partial-json";
export { createJSONParts, parseOutput } from "./structured-output.js";
export { createToolCalls } from "./tool-calls.js";
