/// <reference types="vite/types/importMeta.d.ts" />

/**
 * Loads all modules of the package before the tests, also the lazy ones: a test's clock does not wait for an
 * `import()`.
 */
const parts = import.meta.glob("../../src/**/*.ts");
await Promise.all(Object.values(parts).map((load) => load()));
