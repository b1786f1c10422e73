import type { Reader, SQL, Value } from "@sluice/worker-proxy/plugin";
import { checkValues, readSQL } from "./values.js";

/*
 * Sends the statements of a transaction in few round trips. An operation sends statements without an `await` between
 * them, and a round trip to the database costs more than most statements. So this file joins them into one statement:
 * `WITH q0 AS (…), q1 AS (…) SELECT …`.
 *
 * Postgres runs the parts of a `WITH` in any order, and all of them see the tables as they were before. So two rules keep
 * the result of running the statements one after another:
 *
 * - Statements of a group share a table only if all of them read it. A statement that uses a table which the group
 *   writes begins the next group.
 * - A group never writes both `timers` and `timer_keys`. One statement locks rows in any order, but a transaction must
 *   lock the row of a key before the rows of its timers.
 *
 * Regular expressions find the kind and the tables of a statement. They suffice because texts are values (`?`), never part
 * of the SQL, and because each table follows `FROM`, `INTO`, `JOIN` or `UPDATE` without quotes. A statement of an unknown
 * kind is sent alone.
 */

type Query = Reader["query"];

/** Writes that return no rows. */
const WRITE =
  /^\s*(?:INSERT|UPDATE|DELETE)\b(?!.*\bRETURNING\b)|^\s*WITH\b.*\bINSERT INTO\b(?!.*\bRETURNING\b)/is;
/** A write that begins with `WITH` can only be the last statement of a group. */
const WITH = /^\s*WITH\b/i;
const READ = /^\s*SELECT\b(?!.*\bFOR UPDATE\b)/is;
/** Statements that can be part of a `WITH`. */
const JOINABLE = /^\s*(?:SELECT|INSERT|UPDATE|DELETE)\b/i;
const TABLE = /\b(?:FROM|INTO|JOIN|UPDATE)\s+(?!SET\b)(\w+)/gi;

/** A statement that waits to be sent with its group. */
interface WaitingStatement {
  readonly sql: string;
  readonly values: readonly Value[];
  resolve(rows: readonly never[]): void;
  reject(error: unknown): void;
}

/** The statements of a transaction, sent in groups. */
export class StatementBatch {
  /** Writes without returned rows. The commit waits for them; operations do not. */
  readonly writes: Promise<unknown>[] = [];
  readonly #query: Query;
  #waiting: WaitingStatement[] = [];
  #isClosed = false;

  constructor(query: Query) {
    this.#query = query;
  }

  readonly query: Query = async <Row>(given: SQL, ...values: readonly Value[]): Promise<readonly Row[]> => {
    const sql = readSQL(given, "postgres");
    checkValues(values);
    const done = new Promise<readonly Row[]>((resolve, reject) => {
      if (this.#isClosed) throw new Error("the transaction is over");
      // send after all code that can run now has added its statements
      if (this.#waiting.push({ sql, values, resolve, reject }) === 1) process.nextTick(() => this.send());
    });
    if (!WRITE.test(sql)) return await done;
    this.writes.push(done);
    // without this the rejection is unhandled if another query fails the operation
    done.catch(() => {});
    return [];
  };

  send(): void {
    for (const group of groupStatements(this.#waiting)) void this.#sendGroup(group);
    this.#waiting = [];
  }

  /** Rejects all statements that were not sent. */
  close(error: unknown): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiting) reject(error);
    this.#waiting = [];
  }

  /** Sends a group as one statement, with each statement as a part of its `WITH`. */
  async #sendGroup(group: readonly WaitingStatement[]): Promise<void> {
    const [only] = group;
    try {
      if (only && group.length === 1) return only.resolve(await this.#query(only.sql, ...only.values));
      const values = group.flatMap((statement) => statement.values);
      const parts = group.map(({ sql }, nth) => `q${nth} AS (${sql})`);
      const last = group.at(-1)?.sql ?? "";
      if (WITH.test(last)) {
        await this.#query(last.replace(WITH, `WITH ${parts.slice(0, -1).join(", ")}, `), ...values);
        for (const { resolve } of group) resolve([]);
        return;
      }
      const results = group.map(({ sql }, nth) =>
        WRITE.test(sql) ? "" : `(SELECT json_agg(q) FROM q${nth} q) AS r${nth}`,
      );
      const columns = results.filter((result) => result !== "").join(", ") || "1";
      const [row] = await this.#query<Record<string, readonly never[] | null>>(
        `WITH ${parts.join(", ")} SELECT ${columns}`,
        ...values,
      );
      for (const [nth, { resolve }] of group.entries()) resolve(row?.[`r${nth}`] ?? []);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}

/** Groups consecutive statements by the rules at the top of this file. */
function groupStatements(statements: readonly WaitingStatement[]): readonly (readonly WaitingStatement[])[] {
  const groups: WaitingStatement[][] = [];
  /** The tables of the last group, with true for a table that it only reads. Undefined if the group is complete. */
  let tables: Map<string, boolean> | undefined;
  for (const statement of statements) {
    const { sql } = statement;
    const isRead = READ.test(sql);
    const names = [...sql.matchAll(TABLE)].map(([, name = ""]) => toLockedTable(name.toLowerCase()));
    const isApart = names.every((name) => !tables?.has(name) || (isRead && tables.get(name)));
    const isWith = WITH.test(sql) && WRITE.test(sql);
    const isAlone =
      !JOINABLE.test(sql) && !(isWith && groups.at(-1)?.every((other) => WRITE.test(other.sql)));
    if (!tables || !isApart || isAlone) {
      groups.push([]);
      tables = new Map();
    }
    groups.at(-1)?.push(statement);
    for (const name of names) tables.set(name, isRead);
    if (!JOINABLE.test(sql)) tables = undefined;
  }
  return groups;
}

/** Treats `timer_keys` as `timers`, so that a group never writes both. */
function toLockedTable(table: string): string {
  return table === "timer_keys" ? "timers" : table;
}
