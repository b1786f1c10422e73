// imported dynamically only: a bundler warns if a page imports a module both ways
export { checkMedia } from "./check.js";
export { checkWherePossible } from "./check-request-media.js";
