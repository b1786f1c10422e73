export * from "@sluice/stores";
export { describeError } from "../describe-error.js";
export { errorMessages } from "../error-messages.js";
export * from "./hooks.js";
