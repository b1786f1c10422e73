export type { FaultCase, FaultOutcome, FaultPiece, FaultResponse } from "./fault-case.js";
export { parseFaultCases } from "./parse.js";
export { readFaultCases } from "./read.js";
