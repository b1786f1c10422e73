export { folderBucket } from "./buckets/folder/index.js";
export type { ClosableHost } from "./host/closable.js";
export { type NodeHostOptions, nodeHost } from "./host/node.js";
