/** For `@sluice/durable` alone; it may change in any version. */
export { costOfUsage } from "./cost-of.js";
export { millionthsOf } from "./money.js";
