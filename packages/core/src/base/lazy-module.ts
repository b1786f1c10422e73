/** A module that is loaded later. */
export interface LazyModule<Module> {
  /**
   * The module; undefined before it is loaded. It is not a promise, because a request in a Worker must not wait for a
   * promise of another request.
   */
  readonly loaded: Module | undefined;
  /** Loads the module. Rejects if that fails, and a later call tries again. */
  load(): Promise<Module>;
}

/** Creates a module that `importModule` loads at the first use. */
export function createLazyModule<Module>(importModule: () => Promise<Module>): LazyModule<Module> {
  const lazy = {
    loaded: undefined as Module | undefined,
    async load() {
      lazy.loaded ??= await importModule();
      return lazy.loaded;
    },
  };
  return lazy;
}
