export { conversations, conversationsObject } from "./conversations.js";
export type { ConversationsOptions } from "./options.js";
export type { EndedTurn } from "./runner/ended-turn.js";
export type { EndedRun, RunContext, RunNotices, RunnerOptions } from "./runner/options.js";
export type { Runner } from "./runner/place.js";
export { runner } from "./runner/runner.js";
