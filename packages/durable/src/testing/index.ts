export { type BucketTests, testBucket } from "./bucket.js";
