import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { ObjectSQL } from "../../objects/object.js";
import { type ChangedRows, changedRows } from "./changeset.js";
import type { Changes, RowValue, StoredObject, StoredRow } from "./keeper.js";

/** The database of one object, in memory, which notes what changes. */
export interface Database {
  readonly sql: ObjectSQL;
  /** Drops everything. */
  clear(): void;
  /** Returns what has changed since the last call; undefined for nothing. */
  take(): Omit<Changes, "alarm"> | undefined;
  close(): void;
}

/** Names that SQLite keeps for itself. */
const OF_SQLITE = "name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
const SEQUENCE = "sqlite_sequence";
/** Memory for pages, in KiB: most objects have some rows. */
const CACHE_KIB = 64;

/** Opens a database with what was stored. */
export function openDatabase({ schema, rows }: Pick<StoredObject, "schema" | "rows">): Database {
  const database = new DatabaseSync(":memory:");
  database.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
  const statements = new Map<string, StatementSync>();
  /** Places of the bindings of each query that numbers them: `?2`. */
  const placesIn = new Map<string, readonly number[]>();
  fill();
  let version = schemaVersion();
  let kept = keptTables();
  let session = database.createSession();
  return { sql: { exec }, clear, take, close: () => database.close() };

  /**
   * Creates the tables, fills them, and only then lets triggers see rows. A full-text search is built anew from the table
   * whose words it has: its own tables are not kept.
   */
  function fill(): void {
    const isTable = (statement: string) => /^CREATE TABLE/i.test(statement);
    for (const statement of schema.filter(isTable)) database.exec(statement);
    for (const { table, values } of rows) insert(table, values);
    for (const statement of schema) if (!isTable(statement)) database.exec(statement);
    for (const name of virtualTables())
      database.exec(`INSERT INTO ${quoted(name)} (${quoted(name)}) VALUES ('rebuild')`);
  }

  function virtualTables(): readonly string[] {
    const virtual = "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%'";
    return database
      .prepare(virtual)
      .all()
      .map(({ name }) => String(name));
  }

  /** The names of the tables whose rows are kept: neither a full-text search nor what SQLite makes for it. */
  function keptTables(): ReadonlySet<string> {
    const tables = database.prepare(
      `SELECT name FROM pragma_table_list WHERE type = 'table' AND ${OF_SQLITE}`,
    );
    return new Set(tables.all().map(({ name }) => String(name)));
  }

  function insert(table: string, values: readonly RowValue[]): void {
    // SQLite makes a row there by itself, for each table that counts
    if (table === SEQUENCE) prepared("DELETE FROM sqlite_sequence WHERE name = ?").run(values[0] ?? null);
    const marks = values.map(() => "?").join(", ");
    prepared(`INSERT INTO ${quoted(table)} VALUES (${marks})`).run(...values);
  }

  function exec(query: string, ...bindings: unknown[]) {
    const statement = prepared(query);
    const places = placesIn.get(query);
    const values = (places ? places.map((place) => bindings[place]) : bindings).map(bound);
    if (statement.columns().length > 0) {
      const found = statement.all(...values).map(asOnThePlatform);
      return { toArray: () => found };
    }
    statement.run(...values);
    return { toArray: () => [] };
  }

  function prepared(query: string): StatementSync {
    let statement = statements.get(query);
    if (!statement) {
      if (/\?\d/.test(query)) placesIn.set(query, placesOf(query));
      statement = database.prepare(query.replace(/\?\d+/g, "?"));
      statements.set(query, statement);
    }
    return statement;
  }

  function clear(): void {
    // what belongs to a full-text search goes with it
    for (const name of [...virtualTables(), ...keptTables()]) database.exec(`DROP TABLE ${quoted(name)}`);
  }

  function take(): Omit<Changes, "alarm"> | undefined {
    if (schemaVersion() !== version) return takeAll();
    const changeset = session.changeset();
    if (changeset.byteLength === 0) return undefined;
    begin();
    const put: StoredRow[] = [];
    const removed: string[] = [];
    for (const changed of changedRows(changeset))
      if (kept.has(changed.table)) takeRows(changed, put, removed);
    for (const row of sequences()) put.push(row);
    return { rows: put, removed };
  }

  /** Takes all rows: after a change of the tables, those that a changeset has may look otherwise. */
  function takeAll(): Omit<Changes, "alarm"> {
    version = schemaVersion();
    kept = keptTables();
    begin();
    const master = prepared(
      `SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND ${OF_SQLITE}`,
    );
    const isVirtual = (statement: unknown) => /^CREATE VIRTUAL TABLE/i.test(String(statement));
    const isKept = ({ type, name, sql }: Record<string, unknown>) =>
      type !== "table" || kept.has(String(name)) || isVirtual(sql);
    const made = master.all().filter(isKept);
    const tables = made.map(({ name }) => String(name)).filter((name) => kept.has(name));
    const rows = tables.flatMap((table) => {
      const keyPlaces = keyPlacesOf(table);
      const all = prepared(`SELECT * FROM ${quoted(table)}`).all();
      return all.map((row) => rowOf(table, keyPlaces, Object.values(row) as RowValue[]));
    });
    return { schema: made.map(({ sql }) => String(sql)), rows: [...rows, ...sequences()], removed: [] };
  }

  /** Begins to note changes anew. */
  function begin(): void {
    session.close();
    session = database.createSession();
  }

  function takeRows({ table, keyPlaces, rows }: ChangedRows, put: StoredRow[], removed: string[]): void {
    const names = columnsOf(table).map(({ name }) => quoted(String(name)));
    const isKey = (_: unknown, column: number) => (keyPlaces[column] ?? 0) > 0;
    const where = names.filter(isKey).map((name) => `${name} IS ?`);
    const query = `SELECT * FROM ${quoted(table)} WHERE ${where.join(" AND ")}`;
    for (const values of rows) {
      const found = prepared(query).get(...values.filter(isKey).map(known));
      if (found) put.push(rowOf(table, keyPlaces, Object.values(found) as RowValue[]));
      else removed.push(placeOf(table, keyPlaces, values));
    }
  }

  /** The highest number that each table has given, where one counts: no number comes twice. */
  function sequences(): readonly StoredRow[] {
    const exists = prepared("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'").all().length > 0;
    if (!exists) return [];
    const all = prepared("SELECT name, seq FROM sqlite_sequence").all();
    return all.map((row) => rowOf(SEQUENCE, [1, 0], Object.values(row) as RowValue[]));
  }

  function columnsOf(table: string) {
    return prepared(`PRAGMA table_info(${quoted(table)})`).all();
  }

  /** @throws {Error} for a table without a primary key: its rows would be lost */
  function keyPlacesOf(table: string): readonly number[] {
    const places = columnsOf(table).map(({ pk }) => Number(pk));
    if (!places.some((place) => place > 0)) throw new Error(`table ${table}: give it a primary key`);
    return places;
  }

  function schemaVersion(): number {
    return Number(prepared("PRAGMA schema_version").get()?.["schema_version"]);
  }
}

function rowOf(table: string, keyPlaces: readonly number[], values: readonly RowValue[]): StoredRow {
  return { place: placeOf(table, keyPlaces, values), table, values };
}

function placeOf(
  table: string,
  keyPlaces: readonly number[],
  values: readonly (RowValue | undefined)[],
): string {
  return JSON.stringify([table, ...values.filter((_, column) => (keyPlaces[column] ?? 0) > 0)]);
}

/** The place of each binding as SQLite counts: one without a number comes behind the highest so far. */
function placesOf(query: string): readonly number[] {
  let highest = 0;
  return [...query.matchAll(/\?(\d*)/g)].map(([, given]) => {
    const place = given ? Number(given) : highest + 1;
    highest = Math.max(highest, place);
    return place - 1;
  });
}

/** A value of a primary key, which a changeset always has. */
function known(value: RowValue | undefined): RowValue {
  return value ?? null;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function bound(value: unknown): RowValue {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (value === undefined) throw new TypeError("a binding is undefined; give null");
  return value as RowValue;
}

/** Bytes are an `ArrayBuffer`, as a Durable Object reads them. */
function asOnThePlatform(row: Record<string, unknown>): Record<string, unknown> {
  const values = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Uint8Array
      ? value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength)
      : value,
  ]);
  return Object.fromEntries(values) as Record<string, unknown>;
}
