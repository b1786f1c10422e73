"use client";
export {
  devtoolsFetch,
  playFault,
  recordCalls,
  SluiceDevtools,
  SluiceDevtoolsPanel,
} from "./index.js";
