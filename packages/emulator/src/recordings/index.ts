export { readRecordings, writeRecording } from "./folder.js";
export { createRecorder } from "./record.js";
export type { Recording } from "./recording.js";
export { createReplay } from "./replay.js";
