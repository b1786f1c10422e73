/// <reference types="vite/types/importMeta.d.ts" />
import "../../../stores/test/support/loaded.js";

/**
 * Loads all parts of the client, also those that it loads on first use. They are loaded before the first test: a clock
 * that a test advances knows nothing of an `import()`, and passes a limit of seconds while a busy browser fetches the code.
 */
const parts = import.meta.glob("../../src/**/*.ts");
await Promise.all(Object.values(parts).map((load) => load()));
