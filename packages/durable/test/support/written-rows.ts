import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";

/** All that an object has stored: tables by the statements that make them, rows, values and the alarm. */
export interface Written {
  /** The binding of the object's class. */
  readonly binding: string;
  readonly name: string;
  readonly statements: readonly string[];
  readonly rows: Readonly<Record<string, readonly Record<string, Cell>[]>>;
  readonly values: Readonly<Record<string, unknown>>;
  readonly alarm: number | null;
}

/** A value of a row; bytes as hex digits. */
type Cell = string | number | null | { readonly hex: string };
type Stub = Parameters<typeof runInDurableObject>[0];

const find = (binding: string, name: string) => {
  const namespace = (env as unknown as Record<string, typeof env.BUDGET>)[binding] as typeof env.BUDGET;
  return namespace.get(namespace.idFromName(name)) as Stub;
};

/** Reads all that an object has stored. */
export function writtenBy(binding: string, name: string): Promise<Written> {
  return runInDurableObject(find(binding, name), async (_, { storage }) => {
    const { sql } = storage;
    const own = "name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'";
    const order = "CASE type WHEN 'table' THEN 0 ELSE 1 END, name";
    const made = sql.exec(`SELECT * FROM sqlite_master WHERE sql IS NOT NULL AND ${own} ORDER BY ${order}`);
    const found = made.toArray();
    const tables = found.filter(({ type }) => type === "table").map((table) => String(table["name"]));
    const rowsOf = (table: string) => sql.exec(`SELECT * FROM ${table}`).toArray().map(cellsOf);
    return {
      binding,
      name,
      statements: found.map((one) => String(one["sql"]).replace(/\s+/g, " ")),
      rows: Object.fromEntries(tables.map((table) => [table, rowsOf(table)])),
      values: Object.fromEntries(await storage.list()),
      alarm: await storage.getAlarm(),
    };
  });
}

/** Stores what an object had stored, and has it begin with that. */
export async function write({ binding, name, statements, rows, values, alarm }: Written): Promise<void> {
  await runInDurableObject(find(binding, name), async (_, { storage }) => {
    const { sql } = storage;
    const isTable = (statement: string) => statement.startsWith("CREATE TABLE");
    for (const statement of statements.filter(isTable)) sql.exec(statement);
    for (const [table, all] of Object.entries(rows))
      for (const row of all) {
        const names = Object.keys(row);
        const marks = names.map(() => "?").join(", ");
        sql.exec(
          `INSERT INTO ${table} (${names.join(", ")}) VALUES (${marks})`,
          ...Object.values(row).map(storedAs),
        );
      }
    // triggers count what is added from now on
    for (const statement of statements.filter((one) => !isTable(one))) sql.exec(statement);
    for (const [key, value] of Object.entries(values)) await storage.put(key, value);
    if (alarm !== null) await storage.setAlarm(alarm);
  });
  await evictDurableObject(find(binding, name));
}

function cellsOf(row: Record<string, unknown>): Record<string, Cell> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, cellOf(value)]));
}

function cellOf(value: unknown): Cell {
  if (!(value instanceof ArrayBuffer)) return value as Cell;
  return { hex: [...new Uint8Array(value)].map((byte) => byte.toString(16).padStart(2, "0")).join("") };
}

function storedAs(cell: Cell) {
  if (typeof cell !== "object" || cell === null) return cell;
  const bytes = cell.hex.match(/../g) ?? [];
  return Uint8Array.from(bytes, (byte) => Number.parseInt(byte, 16)).buffer;
}
