"use client";

// the entry for React Server Components: a server component can render the panel, which runs in the browser
export {
  devtoolsFetch,
  playFault,
  recordCalls,
  SluiceDevtools,
  SluiceDevtoolsPanel,
} from "./index.js";
