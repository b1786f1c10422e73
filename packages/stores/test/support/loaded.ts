/// <reference types="vite/types/importMeta.d.ts" />

/** Loads all modules of the stores, including modules that they load on demand: see the same file of the core. */
const parts = import.meta.glob(["../../src/**/*.ts", "!../../src/node/**", "!../../src/node.ts"]);
await Promise.all([...Object.values(parts).map((load) => load()), import("idb")]);
