import type { TableSteps } from "@sluice/durable/internal";
import { RECORD_TABLES, STATE_TABLE } from "./record-tables.js";
import { SEARCH_TABLES } from "./search.js";

/**
 * All conversations of one user: `threads` are those that keep something, and those that are gone for good; `leaving` are
 * those in the bin, since the time at which this object heard of it; `leftovers` are those whose texts are still to be
 * deleted. The records are those of the list that the app shows.
 */
export const INDEX_TABLES: TableSteps = {
  first: "threads",
  isShared: true,
  steps: [
    [
      "CREATE TABLE threads (id TEXT PRIMARY KEY, granted INTEGER, claims INTEGER, touchedAt INTEGER, isGone INTEGER) WITHOUT ROWID",
      "CREATE INDEX threadsByAge ON threads (touchedAt) WHERE isGone = 0",
      "CREATE TABLE leaving (id TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID",
      "CREATE INDEX leavingByAge ON leaving (at)",
      "CREATE TABLE leftovers (id TEXT PRIMARY KEY) WITHOUT ROWID",
      ...RECORD_TABLES,
      STATE_TABLE,
      ...SEARCH_TABLES,
    ],
  ],
};
