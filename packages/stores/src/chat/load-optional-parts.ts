/** The code for images, structured output and tool calls. */
type OptionalParts = typeof import("./optional-parts.js");

/** Loads that code as a separate file, because most chats need none of it. */
export const optionalParts = {
  /** Undefined before it is loaded. */
  loaded: undefined as OptionalParts | undefined,
  /** Loads it. A later call tries again after a failure. */
  async load(): Promise<OptionalParts> {
    optionalParts.loaded ??= await import("./optional-parts.js");
    return optionalParts.loaded;
  },
};
