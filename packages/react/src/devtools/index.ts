export { SluiceDevtools, type SluiceDevtoolsProps } from "./devtools.js";
export { devtoolsFetch } from "./tap.js";
