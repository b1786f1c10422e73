// imported dynamically only: a bundler warns if a page imports a module both ways
export { uploadMedia } from "./upload.js";
