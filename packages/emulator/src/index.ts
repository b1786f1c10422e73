export { createEmulator, type Emulator } from "./emulator.js";
export type { EmulatorOptions } from "./options.js";
export type { Fault } from "./server/network-faults.js";
export type { EmulatorRequest } from "./server/request-log.js";
