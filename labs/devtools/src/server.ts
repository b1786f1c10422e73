"use client";
export {
  devtoolsFetch,
  playFault,
  SluiceDevtools,
  SluiceDevtoolsPanel,
  sluiceDevtoolsPlugin,
} from "./index.js";
