export { type CheckReport, checkTapes } from "./check/check.js";
export type { Finding } from "./check/finding.js";
export { writeReport } from "./check/report.js";
export { createTapeFolder, type NamedTape, readTapes } from "./folder.js";
export { createTapeRecorder, type RecordedExchange, type TapeRecorderOptions } from "./record.js";
export { createReplay, type Replay, type ReplayOptions } from "./replay.js";
export {
  readTape,
  type Tape,
  type TapeEvent,
  type TapeRequest,
  type TapeResponse,
  writeTape,
} from "./tape.js";
