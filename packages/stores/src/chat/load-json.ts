/**
 * Loads the code for JSON of a model, structured output and tool calls, in a file of its own: most chats need none of it.
 * A later call tries again after a failure.
 */
export const loadJSONCode = () => import("./json-later.js");
