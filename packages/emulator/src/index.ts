export type { ChatScript } from "./chat/reply.js";
export type { EmulatorClock } from "./clock.js";
export { createEmulator, type Emulator } from "./emulator.js";
export type { EmulatorOptions } from "./options.js";
export type { Script, ScriptedAnswer } from "./script/script.js";
export type { Durations } from "./server/durations.js";
export type { Fault } from "./server/faults.js";
export type { RequestRecord } from "./server/recorder.js";
export type { ScriptedReply } from "./server/scripted.js";
