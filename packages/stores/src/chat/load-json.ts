/** The code for JSON of a model: structured output and tool calls. */
type JSONCode = typeof import("./json-later.js");

/** Loads that code in a file of its own: most chats need none of it. */
export const jsonCode = {
  /** Undefined before it is loaded. */
  loaded: undefined as JSONCode | undefined,
  /** Loads it. A later call tries again after a failure. */
  async load(): Promise<JSONCode> {
    jsonCode.loaded ??= await import("./json-later.js");
    return jsonCode.loaded;
  },
};
