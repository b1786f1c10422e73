/**
 * Links and members of a conversation. Of a link there is the hash of its secret alone. A member whose `access` is empty has
 * none any more, and stays until the index of that user knows it.
 */
export const SHARING_TABLES: readonly string[] = [
  "CREATE TABLE links (id TEXT PRIMARY KEY, hash TEXT UNIQUE, access TEXT, createdAt INTEGER, endsAt INTEGER) WITHOUT ROWID",
  `CREATE TABLE members (id TEXT PRIMARY KEY, user TEXT UNIQUE, userName TEXT, name TEXT, access TEXT, joinedAt INTEGER,
    isListed INTEGER, told INTEGER) WITHOUT ROWID`,
];
