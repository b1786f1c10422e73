export type {
  Changes,
  DueAlarms,
  Keeper,
  KeptElsewhere,
  KeptObject,
  ObjectName,
  RowValue,
  StoredObject,
  StoredRow,
} from "../hosts/process/keeper.js";
export { type BucketTests, testBucket } from "./bucket.js";
export { type HostTests, hostTests, type OpenedHost } from "./host.js";
export { type KeeperTests, testKeeper } from "./keeper.js";
