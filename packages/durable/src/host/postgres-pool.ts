import { type Reader, Refusal, type SQL, type Value } from "@sluice/worker-proxy/plugin";
import pg from "pg";
import type { PostgresSettings } from "./postgres-connection.js";
import { StatementBatch } from "./statement-batch.js";
import { createStorageError } from "./storage-error.js";
import { checkValues, readSQL } from "./values.js";

type Query = Reader["query"];

/** Maximum time for an operation with all attempts, in milliseconds. */
const MAX_RUN_MS = 10_000;
const PAUSE_MS = 25;
const MAX_PAUSE_MS = 500;
/** Timeouts for a connection, a statement, the lock of a key, and a response of the database, in milliseconds. */
const CONNECT_MS = 5_000;
const STATEMENT_MS = 8_000;
const LOCK_MS = 6_000;
const RESPONSE_MS = 9_000;
/** Maximum idle time within a transaction, in milliseconds: shorter than other processes wait for its key. */
const IDLE_MS = 4_000;

/** Settings of each connection. A connection through a pool has none, so that each transaction sets them. */
const SETTINGS = {
  idle_in_transaction_session_timeout: IDLE_MS,
  lock_timeout: LOCK_MS,
  statement_timeout: STATEMENT_MS,
};
const SET_LOCAL = Object.entries(SETTINGS)
  .map(([name, ms]) => `set_config('${name}', '${ms}', true), `)
  .join("");

const NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now";
/**
 * Waits for the lock of a key, and then reads the time. The statement reads no table, so that the next statement sees
 * every commit of the last lock holder.
 */
const LOCK = "pg_advisory_xact_lock(hashtextextended($1, 0)), ";

/** The connections to the database. */
export class PostgresPool {
  readonly #pool: pg.Pool;
  readonly #schema: string;
  /** False if each transaction may run on another connection of a pool in between. */
  readonly #hasSessions: boolean;
  #isClosed = false;
  /** Start of the first failed operation since the last success. */
  #failsSince: number | undefined;

  constructor({ url, sessionURL, schema, connection }: PostgresSettings) {
    this.#schema = schema;
    this.#hasSessions = sessionURL === undefined;
    this.#pool = new pg.Pool({
      max: 10,
      application_name: "sluice",
      keepAlive: true,
      ...connection,
      connectionString: url,
      types: createTypes(),
      pipeline: true,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: RESPONSE_MS,
      ...(this.#hasSessions && { ...SETTINGS, options: `-c search_path="${schema}"` }),
    });
    // A connection that ends emits `error`. Without a listener Node would end the process. Running work on the
    // connection fails anyway, and the pool opens a new connection.
    this.#pool.on("connect", (client) => client.on("error", ignore));
    this.#pool.on("error", ignore);
  }

  /** Runs work on one connection, and repeats the work if the connection was lost. */
  read<Result>(work: (query: Query) => Promise<Result>): Promise<Result> {
    // the settings of a transaction name the schema
    if (!this.#hasSessions) return this.transact(null, work);
    return this.#retry(() => this.#use((client) => work(createQuery(client, true))));
  }

  /**
   * Runs a transaction, and repeats it if the connection was lost or the transaction lost a conflict.
   *
   * @param key transactions of one key run one at a time; null for a transaction that locks rows itself
   */
  transact<Result>(
    key: string | null,
    work: (query: Query, now: number) => Promise<Result>,
  ): Promise<Result> {
    return this.#retry(() => this.#use((client) => this.#runTransaction(client, key, work)));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#pool.end();
  }

  async #runTransaction<Result>(
    client: pg.PoolClient,
    key: string | null,
    work: (query: Query, now: number) => Promise<Result>,
  ): Promise<Result> {
    const batch = new StatementBatch(createQuery(client, this.#hasSessions));
    try {
      // both statements take one round trip
      const [, { rows }] = await Promise.all([
        client.query("BEGIN"),
        client.query<{ now: number }>(this.#createBegin(key)),
      ]);
      const output = await work(batch.query, rows[0]?.now ?? Number.NaN);
      batch.send();
      // the last writes and the commit also take one round trip; a failed write fails the transaction
      const committed = client.query("COMMIT");
      await Promise.all([...batch.writes, committed]);
      if ((await committed).command !== "COMMIT") throw new Error("the transaction was rolled back");
      return output;
    } catch (error) {
      batch.close(error);
      // the queries after a failed write fail only because of it
      const failed = (await Promise.allSettled(batch.writes)).find((end) => end.status === "rejected");
      const cause = failed ? failed.reason : error;
      if (!isLost(cause)) await client.query("ROLLBACK").catch(ignore);
      throw cause;
    }
  }

  #createBegin(key: string | null): pg.QueryConfig {
    const values = key === null ? [] : [`${this.#schema} ${key}`];
    const text = `SELECT ${key === null ? "" : LOCK}${NOW}`;
    if (this.#hasSessions) return { name: key === null ? "begin-rows" : "begin-key", text, values };
    const path = `set_config('search_path', $${values.push(`"${this.#schema}"`)}, true), `;
    return { text: text.replace("SELECT ", `SELECT ${path}${SET_LOCAL}`), values };
  }

  async #use<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw createStorageError("postgresHost: it is closed");
    const client = await this.#pool.connect();
    let failure: unknown;
    try {
      return await work(client);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      client.release(isLost(failure));
    }
  }

  async #retry<Result>(work: () => Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      try {
        const result = await work();
        this.#failsSince = undefined;
        return result;
      } catch (error) {
        if (!isLost(error)) throw describeFailure(error);
        // during a long outage of the database, requests fail after one attempt
        this.#failsSince ??= startedAt;
        const since = Math.min(this.#failsSince, startedAt);
        if (this.#isClosed || performance.now() + pauseMs - since > MAX_RUN_MS) throw describeFailure(error);
        await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())));
      }
    }
  }
}

/** Creates a client that listens, outside of the pool. */
export function createListener({ url, sessionURL = url, connection }: PostgresSettings): pg.Client {
  const client = new pg.Client({
    application_name: "sluice",
    keepAlive: true,
    ...connection,
    connectionString: sessionURL,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: RESPONSE_MS,
    // a notification that a crash loses delays readers only until their next poll
    options: "-c synchronous_commit=off",
  });
  client.on("error", ignore);
  return client;
}

export const ignore = () => {};

function createTypes(): pg.TypeOverrides {
  const types = new pg.TypeOverrides();
  // bigint, and numeric as the sum of bigints
  for (const whole of [20, 1700]) types.setTypeParser(whole, Number);
  return types;
}

/** All statements so far, each with its name as a prepared statement. */
const statements = new Map<string, { readonly name?: string; readonly text: string }>();
const MAX_STATEMENTS = 1_000;

/** Replaces each `?` with `$1`, `$2` and so on. Statements contain `?` only for values, not in texts or names. */
function createStatement(sql: string): { readonly name?: string; readonly text: string } {
  const known = statements.get(sql);
  if (known) return known;
  let count = 0;
  const text = sql.replaceAll("?", () => {
    count += 1;
    return `$${count}`;
  });
  // the bound protects the database's memory from a plugin that builds statements dynamically
  if (statements.size >= MAX_STATEMENTS) return { text };
  const statement = { name: `s${statements.size}`, text };
  statements.set(sql, statement);
  return statement;
}

/** @param isNamed true if the connection keeps prepared statements */
function createQuery(client: pg.PoolClient, isNamed: boolean): Query {
  return async <Row>(sql: SQL, ...values: readonly Value[]) => {
    const { name, text } = createStatement(readSQL(sql, "postgres"));
    const statement = { ...(isNamed && { name }), text, values: checkValues(values) };
    return (await client.query(statement)).rows as Row[];
  };
}

/**
 * Error codes of connections, of a server that stops, starts or is still a replica (25006), and of transactions that lost a
 * conflict.
 */
const LOST =
  /^(08|57P0|53300|25006|25P0[34]|40001|40P01|0A000|ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/;
/** Messages of errors that `pg` throws without a code. */
const LOST_WORDS =
  /terminated|not queryable|timeout exceeded|read timeout|connection error|client was closed/i;
/** Error codes of a failed lock, statement or disk of the database. */
const FAILED = /^(55P03|57014|53|58|XX)/;

/** The message of a pool that refuses the settings of a connection. */
const NO_SETTINGS = /unsupported startup parameter/i;
const NO_SETTINGS_ADVICE =
  "postgresHost: url: leads to a pool; set sessionURL to the address of Postgres itself";

function isLost(error: unknown): boolean {
  const { code, message } = readError(error);
  if (NO_SETTINGS.test(message)) return false;
  return LOST.test(code) || (code === "" && LOST_WORDS.test(message));
}

function describeFailure(error: unknown): unknown {
  const { code, message } = readError(error);
  if (NO_SETTINGS.test(message))
    return new Refusal("misconfigured", { problem: NO_SETTINGS_ADVICE, cause: error });
  if (code === "55P03") return createStorageError("postgresHost: the key is locked for too long", error);
  if (!isLost(error) && !FAILED.test(code)) return error;
  return createStorageError("postgresHost: the database did not respond", error);
}

function readError(error: unknown): { readonly code: string; readonly message: string } {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return { code: String(code ?? ""), message: String(message ?? "") };
}
