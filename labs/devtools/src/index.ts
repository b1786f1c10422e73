export { SluiceDevtools, type SluiceDevtoolsProps } from "./devtools.js";
export { SluiceDevtoolsPanel, type SluiceDevtoolsPanelProps } from "./docked-panel.js";
export type { Fault } from "./faults.js";
export {
  type SluiceDevtoolsPlugin,
  type SluiceDevtoolsPluginOptions,
  sluiceDevtoolsPlugin,
} from "./plugin.js";
export { devtoolsFetch, playFault } from "./tap.js";
