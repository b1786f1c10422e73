/// <reference types="vite/types/importMeta.d.ts" />
import "../../../stores/test/support/loaded.js";

/**
 * Loads all modules of the client before the first test. A test clock does not wait for an `import()`: it would pass a
 * time limit while a busy browser fetches the code.
 */
const modules = import.meta.glob("../../src/**/*.ts");
await Promise.all(Object.values(modules).map((load) => load()));
