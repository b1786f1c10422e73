export { SluiceDevtools, type SluiceDevtoolsProps } from "./devtools.js";
export {
  type SluiceDevtoolsPlugin,
  type SluiceDevtoolsPluginOptions,
  sluiceDevtoolsPlugin,
} from "./plugin.js";
export { devtoolsFetch } from "./tap.js";
