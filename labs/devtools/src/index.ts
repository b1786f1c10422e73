export { SluiceDevtools, type SluiceDevtoolsProps } from "./devtools.js";
export { SluiceDevtoolsPanel, type SluiceDevtoolsPanelProps } from "./docked-panel.js";
export type { Fault } from "./faults.js";
export { recordCalls } from "./recording.js";
export { devtoolsFetch, playFault } from "./tap.js";
