import { ensure } from "@sluice/worker-proxy/plugin";
import type { Listeners } from "./listeners.js";
import { PostgresBus } from "./postgres-bus.js";
import type { PostgresConnection } from "./postgres-connection.js";
import { PostgresPool } from "./postgres-pool.js";
import {
  type ClosableHost,
  createProcessHost,
  type DatabaseSetup,
  type ProcessDatabase,
} from "./process-host.js";
import { Queues } from "./queues.js";
import type { Query } from "./run-step.js";
import { TimerRows } from "./timer-rows.js";
import { readSQL } from "./values.js";

export type { PostgresConnection } from "./postgres-connection.js";

/** Options of {@link postgresHost}. */
export interface PostgresHostOptions {
  /** Address of the database, `postgres://user:password@host:5432/name`. */
  readonly url: string;
  /** Schema of the tables. It is created if it is missing. @default "sluice" */
  readonly schema?: string;
  /** Options of the package `pg`. @default { max: 10 } */
  readonly connection?: PostgresConnection;
  /** The environment of jobs, as `createProxy` passes it to its options. @default process.env */
  readonly env?: unknown;
}

type PostgresAddress = Required<Omit<PostgresHostOptions, "env">>;

/**
 * Stores what plugins store in Postgres, for any number of processes. Needs the package `pg`.
 *
 * It connects when the proxy is created, and again whenever the database was away. Each request in between gets a 503 with
 * `Retry-After` after at most 10 s. Another process serves the users of a process that was killed at once.
 *
 * Connect to Postgres itself, or to a pool that gives each client a session: PgBouncer with `pool_mode = transaction` has
 * no `LISTEN` and refuses the settings of a session.
 *
 * @throws {TypeError} when an option is missing or can't work
 * @example
 * ```ts
 * import { postgresHost } from "@sluice/durable/postgres";
 *
 * const host = postgresHost({ url: process.env["DATABASE_URL"] ?? "postgres://localhost/sluice" });
 * process.once("SIGTERM", () => host.close());
 * // createProxy({ ...options, host, plugins: [budget({ … })] })
 * ```
 */
export function postgresHost<Env = unknown>(options: PostgresHostOptions): ClosableHost<Env> {
  const { url, schema = "sluice", connection = {}, env = process.env } = options ?? {};
  const isAddress = typeof url === "string" && /^postgres(?:ql)?:\/\//.test(url);
  ensure(isAddress, 'postgresHost: url: give an address, "postgres://user:password@host:5432/name"');
  const isSchema = typeof schema === "string" && /^[a-z_]\w{0,49}$/i.test(schema);
  ensure(isSchema, "postgresHost: schema: give up to 50 letters, digits and underscores");
  const { max = 10 } = connection;
  ensure(
    Number.isSafeInteger(max) && max >= 2,
    "postgresHost: connection.max: give a whole number from 2 up",
  );
  return createProcessHost(
    "postgresHost",
    env,
    (setup) => new PostgresDatabase({ url, schema, connection }, setup),
  );
}

class PostgresDatabase implements ProcessDatabase {
  readonly rows = new TimerRows("shared");
  readonly #pool: PostgresPool;
  readonly #bus: PostgresBus;
  readonly #queues = new Queues();
  readonly #schema: string;
  readonly #tables: readonly string[];
  #created: Promise<void> | undefined;

  constructor({ url, schema, connection }: PostgresAddress, { tables, report }: DatabaseSetup) {
    this.#schema = schema;
    this.#tables = [...this.rows.tables, ...tables].map((sql) => readSQL(sql, "postgres"));
    this.#pool = new PostgresPool(url, schema, connection);
    this.#bus = new PostgresBus(url, connection, schema, report);
  }

  get listeners(): Listeners {
    return this.#bus.listeners;
  }

  async read<Result>(_: string, work: (query: Query) => Promise<Result>): Promise<Result> {
    await this.#createTablesOnce();
    return await this.#pool.read(work);
  }

  async transact<Result>(
    key: string | null,
    work: (query: Query, now: number) => Promise<Result>,
  ): Promise<Result> {
    const run = async () => {
      await this.#createTablesOnce();
      return await this.#pool.transact(key, work);
    };
    // this process waits for a key with one connection, however many of its operations wait
    return await (key === null ? run() : this.#queues.run(key, run));
  }

  publish(key: string): void {
    this.#bus.notify(key);
  }

  async close(): Promise<void> {
    await this.#bus.close();
    await this.#pool.close();
  }

  /** Creates the tables, once. While the database is away, each operation tries it. */
  #createTablesOnce(): Promise<void> {
    this.#created ??= this.#createTables().catch((error) => {
      this.#created = undefined;
      throw error;
    });
    return this.#created;
  }

  /** Runs the statements that this schema has not had. Processes that start together wait for each other. */
  async #createTables(): Promise<void> {
    const schema = `"${this.#schema}"`;
    await this.#pool.transact("tables", async (query) => {
      const [found] = await query("SELECT 1 AS found FROM pg_namespace WHERE nspname = ?", this.#schema);
      // `IF NOT EXISTS` alone needs a right that this role may not have
      if (!found) await query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
      await query("CREATE TABLE IF NOT EXISTS host_statements (sql TEXT NOT NULL PRIMARY KEY)");
      const rows = await query<{ sql: string }>("SELECT sql FROM host_statements");
      const known = new Set(rows.map(({ sql }) => sql));
      // `IF NOT EXISTS` of an index waits for all writers of its table. Two plugins may have one table
      for (const sql of new Set(this.#tables.filter((sql) => !known.has(sql)))) {
        await query(orderByBytes(sql));
        await query("INSERT INTO host_statements (sql) VALUES (?)", sql);
      }
    });
  }
}

/** Texts are in the order of their bytes, as in SQLite: the order of a database depends on its language. */
function orderByBytes(sql: string): string {
  return /^\s*CREATE TABLE/i.test(sql) ? sql.replace(/\bTEXT\b/g, 'TEXT COLLATE "C"') : sql;
}
