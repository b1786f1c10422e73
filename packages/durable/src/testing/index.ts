export { bucketTests } from "./bucket.js";
export { hostTests } from "./host.js";
