"use client";
export {
  devtoolsFetch,
  playFault,
  SluiceDevtools,
  SluiceDevtoolsPanel,
} from "./index.js";
