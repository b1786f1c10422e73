import type { ObjectState } from "../../objects/object.js";
import { createTables, type TableSteps } from "../../objects/tables.js";

/** Subscriptions of a user's browsers, notices on their way, and one delivery for each notice and browser. */
const TABLES: TableSteps = {
  first: "subscriptions",
  isShared: true,
  steps: [
    [
      "CREATE TABLE subscriptions (id TEXT PRIMARY KEY, target TEXT, addedAt INTEGER)",
      "CREATE TABLE notices (id TEXT PRIMARY KEY, body TEXT, until INTEGER)",
      `CREATE TABLE deliveries (notice TEXT, subscription TEXT, tries INTEGER, nextAt INTEGER,
        PRIMARY KEY (notice, subscription))`,
    ],
    [
      // of an earlier version: whose browser it is was not asked
      "ALTER TABLE subscriptions ADD COLUMN isClaimed INTEGER NOT NULL DEFAULT 0",
      "ALTER TABLE notices ADD COLUMN facts TEXT NOT NULL DEFAULT '{}'",
      // without nextAt: it was given up; with letterAt: its dead letter is still to be kept
      "ALTER TABLE deliveries ADD COLUMN letterAt INTEGER",
      "ALTER TABLE deliveries ADD COLUMN status INTEGER",
      "DELETE FROM deliveries WHERE notice NOT IN (SELECT id FROM notices)",
      "CREATE INDEX subscriptions_added ON subscriptions (addedAt)",
      "CREATE INDEX notices_until ON notices (until)",
      "CREATE INDEX deliveries_next ON deliveries (nextAt) WHERE nextAt IS NOT NULL",
      "CREATE INDEX deliveries_letter ON deliveries (letterAt) WHERE letterAt IS NOT NULL",
      "CREATE INDEX deliveries_subscription ON deliveries (subscription)",
      // the number of notices, and the name of this object, which it can't find out by itself
      "CREATE TABLE known (id INTEGER PRIMARY KEY CHECK (id = 1), notices INTEGER, name TEXT)",
      "INSERT INTO known SELECT 1, count(*), NULL FROM notices",
    ],
  ],
};

/** Opens the tables of a user's subscriptions. */
export function pushTables({ storage }: ObjectState) {
  return createTables({ sql: storage.sql, deleteAll: () => storage.deleteAll() }, TABLES);
}
