export { createPlan, type Plan } from "./plan.js";
export { scenarios } from "./scenarios.js";
export { findShortest, report, search } from "./search.js";
export { simulate } from "./simulate.js";
export { loadTrees } from "./tree-code.js";
