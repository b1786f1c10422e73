export type { EndedRun, RunContext, RunNotices, RunnerOptions } from "./options.js";
export type { Runner } from "./place.js";
export { runner } from "./runner.js";
