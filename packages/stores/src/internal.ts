// Old names for code that is not yet moved to `extend.ts`.

export * from "./extend.js";
