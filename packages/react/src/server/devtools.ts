"use client";
export { devtoolsFetch, SluiceDevtools, sluiceDevtoolsPlugin } from "../devtools/index.js";
