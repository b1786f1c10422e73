/// <reference types="vite/types/importMeta.d.ts" />

/** All parts of the package, also those that it loads when they are used: a clock that a test advances knows nothing of an `import()`. */
const parts = import.meta.glob("../../src/**/*.ts");
await Promise.all(Object.values(parts).map((load) => load()));
