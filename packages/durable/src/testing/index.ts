export { type BucketTests, testBucket } from "./bucket.js";
export { type HostTests, hostTests, type OpenedHost } from "./host.js";
export { hostTestPart } from "./host-part.js";
