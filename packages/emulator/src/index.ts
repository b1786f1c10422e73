export type { ChatScript, ScriptedReply } from "./chat/reply.js";
export type { EmulatorClock } from "./clock.js";
export { createEmulator, type Emulator } from "./emulator.js";
export type { Fault } from "./faults.js";
export type { EmulatorOptions } from "./options.js";
export type { RequestRecord } from "./recorder.js";
