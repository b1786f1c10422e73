"use client";
export { devtoolsFetch, SluiceDevtools } from "../devtools/index.js";
