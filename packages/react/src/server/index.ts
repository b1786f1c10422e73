export * from "@sluice/stores";
export * from "./hooks.js";
