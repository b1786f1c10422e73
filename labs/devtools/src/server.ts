"use client";
export { devtoolsFetch, SluiceDevtools, sluiceDevtoolsPlugin } from "./index.js";
