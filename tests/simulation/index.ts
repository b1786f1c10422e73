export { type Plan, planOf } from "./plan.js";
export { report, search, shortest } from "./search.js";
export { simulate } from "./simulate.js";
export { loadTrees } from "./tree-code.js";
