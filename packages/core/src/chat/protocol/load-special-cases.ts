/** The code for special cases of a stream. */
export type SpecialCases = typeof import("./special-cases.js");

/** The code for special cases, as soon as it is loaded. */
export interface SpecialCasesLoader {
  /** Undefined before it is loaded. */
  readonly loaded?: SpecialCases | undefined;
  /** Loads it. A later call tries again after a failure. */
  load(): Promise<SpecialCases>;
}

/**
 * Loads the code for special cases in a file of its own. Each stream starts to load it with its request, so that it is
 * there before the network fails.
 */
export const specialCases = {
  loaded: undefined as SpecialCases | undefined,
  async load() {
    specialCases.loaded ??= await import("./special-cases.js");
    return specialCases.loaded;
  },
  /** Creates the reader of tool calls. Only after loading. */
  createCallReader: ((...given) =>
    (specialCases.loaded as SpecialCases).createCallReader(...given)) as SpecialCases["createCallReader"],
};
