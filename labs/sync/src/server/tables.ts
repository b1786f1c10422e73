import type { SQL } from "@sluice/worker-proxy/plugin";

/**
 * The tables of all users.
 *
 * - `sync_users`: the version and the totals of a user. `records` and `bytes` do not count tombstones.
 * - `sync_commits`: the newest commits, each with a random tag.
 * - `sync_collections`: `id` is the version of the commit that created the collection. Records refer to it.
 * - `sync_records`: `value` is JSON, null for a tombstone. `turn` is the server's turn that wrote the record. `doc` is its
 *   row in `sync_docs`.
 * - `sync_turns`: turns of the server. `tip` is the newest record of the turn, `owner` is new for each run. `alive_until` is
 *   the end of the lease of a run, or of the wait for decisions.
 * - `sync_calls`: tool calls that need a decision, each with its first decision.
 * - `sync_docs`: the full-text index. Each word begins with a part of the user's key, so that a search for words or
 *   prefixes reads only the words of its user.
 */
export const TABLES: readonly SQL[] = [
  `CREATE TABLE IF NOT EXISTS sync_users (key TEXT NOT NULL PRIMARY KEY, version BIGINT NOT NULL,
    records BIGINT NOT NULL, bytes BIGINT NOT NULL, tombstones BIGINT NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS sync_commits (key TEXT NOT NULL, version BIGINT NOT NULL, tag TEXT NOT NULL,
    PRIMARY KEY (key, version))`,
  `CREATE TABLE IF NOT EXISTS sync_collections (key TEXT NOT NULL, collection TEXT NOT NULL, id BIGINT NOT NULL,
    version BIGINT NOT NULL, PRIMARY KEY (key, collection))`,
  "CREATE INDEX IF NOT EXISTS sync_collections_by_version ON sync_collections (key, version)",
  "CREATE INDEX IF NOT EXISTS sync_collections_by_id ON sync_collections (key, id)",
  `CREATE TABLE IF NOT EXISTS sync_records (key TEXT NOT NULL, collection BIGINT NOT NULL, record TEXT NOT NULL,
    version BIGINT NOT NULL, value TEXT, bytes BIGINT NOT NULL, turn TEXT, doc BIGINT,
    PRIMARY KEY (key, collection, record))`,
  "CREATE INDEX IF NOT EXISTS sync_records_by_version ON sync_records (key, collection, version, record)",
  "CREATE INDEX IF NOT EXISTS sync_records_by_doc ON sync_records (key, doc) WHERE doc IS NOT NULL",
  "CREATE INDEX IF NOT EXISTS sync_tombstones ON sync_records (key, version) WHERE value IS NULL",
  {
    // `content=''`: the index does not store the texts; `prefix`: 8 characters of the key and two or three letters
    sqlite: `CREATE VIRTUAL TABLE IF NOT EXISTS sync_docs USING fts5 (key UNINDEXED, words, content='',
      contentless_delete=1, detail=none, tokenize='ascii', prefix='10 11')`,
    postgres: `CREATE TABLE IF NOT EXISTS sync_docs (key TEXT NOT NULL, doc BIGSERIAL, words tsvector NOT NULL,
      PRIMARY KEY (key, doc))`,
  },
  `CREATE TABLE IF NOT EXISTS sync_turns (key TEXT NOT NULL, turn TEXT NOT NULL, collection TEXT NOT NULL,
    collection_id BIGINT NOT NULL, question TEXT NOT NULL, tip TEXT NOT NULL, state TEXT NOT NULL, code TEXT,
    message TEXT, request TEXT NOT NULL, owner TEXT NOT NULL, alive_until BIGINT NOT NULL, stop BIGINT NOT NULL,
    ended_at BIGINT, PRIMARY KEY (key, turn))`,
  "CREATE INDEX IF NOT EXISTS sync_open_turns ON sync_turns (key, collection) WHERE ended_at IS NULL",
  `CREATE TABLE IF NOT EXISTS sync_calls (key TEXT NOT NULL, turn TEXT NOT NULL, call TEXT NOT NULL,
    record TEXT NOT NULL, name TEXT NOT NULL, wants TEXT NOT NULL, decision TEXT, detail TEXT, account TEXT,
    device TEXT, PRIMARY KEY (key, turn, record, call))`,
  {
    // FTS5 can't return the id of an inserted row
    sqlite: "CREATE TABLE IF NOT EXISTS sync_doc_ids (key TEXT NOT NULL PRIMARY KEY, doc BIGINT NOT NULL)",
    // `fastupdate = off`: each search would read the pending entries of all users
    postgres:
      "CREATE INDEX IF NOT EXISTS sync_docs_by_words ON sync_docs USING gin (words) WITH (fastupdate = off)",
  },
];
