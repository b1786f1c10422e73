export { folderBucket } from "./buckets/folder/index.js";
export { nodeHost } from "./host/node.js";
