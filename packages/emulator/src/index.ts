export type { ChatScript, ScriptedReply } from "./chat/reply.js";
export type { EmulatorClock } from "./clock.js";
export { createEmulator, type Emulator, type EmulatorOptions } from "./emulator.js";
export type { Fault } from "./faults.js";
export type { RequestRecord } from "./recorder.js";
