export { createTapeFolder, type NamedTape, readTapes } from "./folder.js";
export { createTapeRecorder, type RecordedExchange, type TapeRecorderOptions } from "./record.js";
export { createReplay, type Replay, type ReplayOptions } from "./replay.js";
export type { Tape } from "./tape.js";
