export type { FaultCase } from "./fault-case.js";
export { readFaultCases } from "./read.js";
