// imported later alone: a bundler warns of a module that a page imports both later and at once
export { checkMedia } from "./check.js";
export { checkWherePossible } from "./check-request-media.js";
