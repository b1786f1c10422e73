export { type BucketTests, bucketTests } from "./bucket.js";
export { type HostTests, hostTests, type OpenedHost } from "./host.js";
