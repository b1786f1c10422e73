export type { FaultCase, FaultOutcome, FaultPiece, FaultResponse } from "./fault-case.js";
export { readFaultCases } from "./read.js";
