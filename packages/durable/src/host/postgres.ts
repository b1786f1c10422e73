import { ensure, Refusal } from "@sluice/worker-proxy/plugin";
import type { Listeners } from "./listeners.js";
import { PostgresBus } from "./postgres-bus.js";
import type { PostgresConnection, PostgresSettings } from "./postgres-connection.js";
import { PostgresPool } from "./postgres-pool.js";
import {
  type ClosableHost,
  createProcessHost,
  type DatabaseSetup,
  type ProcessDatabase,
} from "./process-host.js";
import { Queues } from "./queues.js";
import type { Query } from "./run-step.js";
import { COLUMNS, REPLACE, TimerRows, TOUCH_KEY } from "./timer-rows.js";
import { readSQL } from "./values.js";

/** Options of {@link postgresHost}. */
interface PostgresHostOptions {
  /** Address of the database, `postgres://user:password@host:5432/name`. */
  readonly url: string;
  /**
   * Address of Postgres itself. Set it if `url` leads to a pool such as PgBouncer: the host then listens for
   * notifications here, and needs no session at `url`.
   * @default url
   */
  readonly sessionURL?: string;
  /** Schema of the tables. The host creates a missing schema. @default "sluice" */
  readonly schema?: string;
  /** Options of the package `pg`. @default { max: 10 } */
  readonly connection?: PostgresConnection;
  /** The environment of jobs, as `createProxy` passes it to its options. @default process.env */
  readonly env?: unknown;
}

/**
 * Creates a host that stores the data of plugins in Postgres, for any number of processes. It requires the package
 * `pg`.
 *
 * The host connects when the proxy is created, and reconnects after an outage of the database. During an outage each
 * request gets a 503 with `Retry-After` after at most 10 s. If a process is killed, other processes can serve its users
 * at once.
 *
 * Connect to Postgres directly. Behind a pool such as PgBouncer, set the option `sessionURL`, too.
 *
 * @throws {TypeError} for a missing or invalid option
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
  const { url, sessionURL, schema = "sluice", connection = {}, env = process.env } = options ?? {};
  for (const [name, address] of Object.entries({ url, sessionURL: sessionURL ?? url }))
    ensure(
      typeof address === "string" && /^postgres(?:ql)?:\/\//.test(address),
      `postgresHost: ${name}: give an address, "postgres://user:password@host:5432/name"`,
    );
  const isSchema = typeof schema === "string" && /^[a-z_]\w{0,49}$/i.test(schema);
  ensure(isSchema, "postgresHost: schema: give up to 50 letters, digits and underscores");
  const { max = 10 } = connection;
  ensure(
    Number.isSafeInteger(max) && max >= 2,
    "postgresHost: connection.max: give a whole number from 2 up",
  );
  const settings = { url, sessionURL, schema, connection };
  return createProcessHost("postgresHost", env, (setup) => new PostgresDatabase(settings, setup));
}

// locks the row of the key before the row of the timer
const SCHEDULE_LOCKED = `WITH touched AS (${TOUCH_KEY} RETURNING key) INSERT INTO timers ${COLUMNS}
  SELECT key, ?, ?, ?::bigint, ?, 0, 0, 0 FROM touched ${REPLACE}`;

class PostgresDatabase implements ProcessDatabase {
  readonly rows = new TimerRows(true, SCHEDULE_LOCKED);
  readonly #pool: PostgresPool;
  readonly #bus: PostgresBus;
  readonly #queues = new Queues();
  readonly #schema: string;
  readonly #tables: readonly string[];
  #created: Promise<void> | undefined;

  constructor(settings: PostgresSettings, { tables, report }: DatabaseSetup) {
    this.#schema = settings.schema;
    this.#tables = [...this.rows.tables, ...tables].map((sql) => readSQL(sql, "postgres"));
    this.#pool = new PostgresPool(settings);
    this.#bus = new PostgresBus(settings, report);
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
    // the queue uses at most one connection per key, even if many operations of this process wait for the key
    return await (key === null ? run() : this.#queues.run(key, run));
  }

  publish(key: string): void {
    this.#bus.notify(key);
  }

  async close(): Promise<void> {
    await this.#bus.close();
    await this.#pool.close();
  }

  /** Creates the tables once. After a failure the next operation tries again. */
  #createTablesOnce(): Promise<void> {
    this.#created ??= this.#createTables().catch((error) => {
      this.#created = undefined;
      throw error;
    });
    return this.#created;
  }

  /** Runs the statements that are new to this schema. Processes that start together run this one after the other. */
  async #createTables(): Promise<void> {
    const schema = `"${this.#schema}"`;
    await this.#pool.transact("tables", async (query) => {
      const [path] = await query<{ path: string }>("SELECT current_setting('search_path') AS path");
      if (path?.path !== schema) throw new Refusal("misconfigured", { problem: NO_SCHEMA });
      const [found] = await query("SELECT 1 AS found FROM pg_namespace WHERE nspname = ?", this.#schema);
      // even `IF NOT EXISTS` requires the CREATE privilege, which this role may lack
      if (!found) await query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
      await query("CREATE TABLE IF NOT EXISTS host_statements (sql TEXT NOT NULL PRIMARY KEY)");
      const rows = await query<{ sql: string }>("SELECT sql FROM host_statements");
      const known = new Set(rows.map(({ sql }) => sql));
      // known statements are skipped, because `CREATE INDEX IF NOT EXISTS` waits for all writers of the table. The set
      // removes duplicates, because two plugins may share a table
      for (const sql of new Set(this.#tables.filter((sql) => !known.has(sql)))) {
        await query(orderByBytes(sql));
        await query("INSERT INTO host_statements (sql) VALUES (?)", sql);
      }
    });
  }
}

/** A pool that ignores startup parameters would store the tables of every schema in `public`. */
const NO_SCHEMA =
  "postgresHost: url: its connections ignore the schema; set sessionURL if url leads to a pool, and set no search_path in url";

/** Adds a collation that orders texts by bytes, as SQLite does. The default order depends on the database's locale. */
function orderByBytes(sql: string): string {
  return /^\s*CREATE TABLE/i.test(sql) ? sql.replace(/\bTEXT\b/g, 'TEXT COLLATE "C"') : sql;
}
