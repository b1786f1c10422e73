import type { BoundHost, HostSetup, JobContext } from "@sluice/worker-proxy";
import { ensure } from "@sluice/worker-proxy/plugin";
import { type ClosableHost, createClosableHost } from "./closable.js";
import { LocalJobs } from "./local-jobs.js";
import { indexParts } from "./named-steps.js";
import { PostgresBus } from "./postgres-bus.js";
import type { PostgresConnection } from "./postgres-connection.js";
import { PostgresPool } from "./postgres-pool.js";
import { Queues } from "./queues.js";
import { runOperation, runReading } from "./run-operation.js";
import { refuseNested } from "./run-step.js";
import { createStorageError } from "./storage-error.js";
import { TimerLoop } from "./timer-loop.js";
import { TimerRows } from "./timer-rows.js";
import { type TimerPlace, Timers } from "./timers.js";
import { checkKey } from "./values.js";

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
  return createClosableHost((setup) => new PostgresHost({ url, schema, connection, env }, setup));
}

class PostgresHost implements BoundHost {
  readonly #pool: PostgresPool;
  readonly #bus: PostgresBus;
  readonly #queues = new Queues();
  readonly #rows = new TimerRows({ hasKeys: true, isShared: true });
  readonly #report: (subject: string, error: unknown) => void;
  readonly #local: LocalJobs;
  readonly #loop: TimerLoop;
  readonly #env: unknown;
  readonly #schema: string;
  readonly #tables: readonly string[];
  #created: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    { url, schema, connection, env }: Required<PostgresHostOptions>,
    { parts, report }: HostSetup<never>,
  ) {
    this.#env = env;
    this.#schema = schema;
    this.#report = (subject, error) => report(subject, error, env as never);
    indexParts(parts);
    this.#tables = [...this.#rows.tables, ...parts.flatMap(({ tables }) => tables)];
    this.#pool = new PostgresPool(url, schema, connection);
    this.#bus = new PostgresBus(url, connection, schema, (error) => this.#report("a listener", error));
    this.#local = new LocalJobs(this.#createContext, this.#report);
    const place: TimerPlace = {
      transact: async (key, work) => {
        await this.#ready();
        return await this.#pool.transact(key, work);
      },
      createContext: this.#createContext,
      report: this.#report,
      onSchedule: (at) => this.#loop.wake(at),
    };
    const timers = new Timers(this.#rows, place, parts);
    // its first read creates the tables
    this.#loop = new TimerLoop(timers, (error) => this.#report("timers", error));
  }

  run: BoundHost["run"] = async (key, step, input) => {
    refuseNested(`run "${step.name}"`);
    checkKey(key);
    if (step.kind === "read") {
      await this.#ready();
      return await this.#pool.read((query) => runReading(key, step, input, query));
    }
    // this process waits for a key with one connection, however many of its operations wait
    const { output, isPublished, wakeAt } = await this.#queues.run(key, async () => {
      await this.#ready();
      return await this.#pool.transact(key, (query, now) =>
        runOperation(key, step, input, { query, now, rows: this.#rows }),
      );
    });
    this.#loop.wake(wakeAt);
    if (isPublished) this.#bus.notify(key);
    return output;
  };

  start: BoundHost["start"] = async (key, job, input) => {
    refuseNested(`start job "${job.name}"`);
    this.#checkOpen();
    void this.#local.start(checkKey(key), job, input);
  };

  open: BoundHost["open"] = async (key, source, input) => {
    refuseNested(`open source "${source.name}"`);
    this.#checkOpen();
    return this.#local.open(checkKey(key), source, input);
  };

  close(withinMs: number): Promise<void> {
    this.#closing ??= this.#close(withinMs);
    return this.#closing;
  }

  async #close(withinMs: number): Promise<void> {
    const ended = await Promise.allSettled([this.#loop.close(withinMs), this.#local.close(withinMs)]);
    for (const end of ended) if (end.status === "rejected") this.#report("close", end.reason);
    await this.#bus.close();
    await this.#pool.close();
  }

  #checkOpen(): void {
    if (this.#closing) throw createStorageError("postgresHost: it is closed");
  }

  readonly #createContext = (key: string, attempt: number, signal: AbortSignal): JobContext => ({
    host: this,
    key,
    attempt,
    signal,
    env: this.#env,
    subscribe: (listener) => this.#bus.listeners.add(key, listener),
  });

  /** Creates the tables, once. While the database is away, each operation tries it. */
  #ready(): Promise<void> {
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
      // `IF NOT EXISTS` alone needs a right that an operator may have kept
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
