CREATE TABLE records (
  owner TEXT NOT NULL,
  collection TEXT NOT NULL,         -- one for each chat, and one for the list
  key TEXT NOT NULL,                -- one for each message
  value TEXT CHECK (value IS JSON), -- NULL for a record that was removed
  version BIGSERIAL,                -- a higher one with each write
  PRIMARY KEY (owner, collection, key)
);
CREATE INDEX records_by_version ON records (owner, collection, version);
