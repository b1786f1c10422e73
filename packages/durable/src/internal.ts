/*
 * What `labs/sync` needs of this package beside its public entries. It may change with any release, and goes as soon as the
 * lab can do without.
 */

export { checkLeavingIsReported } from "./hosts/cloudflare.js";
export { isDone } from "./notices/after-end.js";
export { report } from "./objects/job.js";
export {
  askObject,
  classOf,
  type ObjectSocket,
  type ObjectSQL,
  objectNamed,
  refusedBy,
} from "./objects/object.js";
export { type Next, openReaders, type Readers } from "./objects/readers.js";
export { objectRefusal, type RefusalTable, refusalsOf } from "./objects/refusals.js";
export { createTables, type TableSteps, type Tables } from "./objects/tables.js";
