/// <reference types="vite/types/importMeta.d.ts" />

/** All parts of the stores, also those that they load when they are used: see the same file of the core. */
const parts = import.meta.glob(["../../src/**/*.ts", "!../../src/node/**", "!../../src/node.ts"]);
await Promise.all([...Object.values(parts).map((load) => load()), import("idb")]);
