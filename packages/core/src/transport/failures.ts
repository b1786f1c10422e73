/* What only a failed request needs. A call loads it beside its first request. */

// with its own loader: otherwise bundlers split the code that a page with videos loads at once, which costs 1.8 kB
export { failureCode } from "./failure-code.js";
export { readRefusal } from "./read-refusal.js";
export { repeat } from "./repeat.js";
