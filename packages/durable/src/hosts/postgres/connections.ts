import postgres, { type Options, type PendingQuery, type Row, type Sql } from "postgres";

/** Connections to one database. */
export interface Connections {
  /**
   * Runs a query that may be repeated, and repeats it where its connection was lost.
   *
   * @param make makes the query anew; `nth` is 0 for the first attempt
   * @throws {Error} where the database refuses it, and where it has not answered in time
   */
  query(make: (sql: Sql, nth: number) => PendingQuery<Row[]>): Promise<readonly Row[]>;
  readonly sql: Sql;
  close(): Promise<void>;
}

/** Options of the client, as the package `postgres` takes them. */
export type ConnectionOptions = Options<Record<string, never>>;

/** Longest time for a query with all its attempts, in milliseconds. */
const ANSWER_MS = 10_000;
/** Longest time that the database gives a statement, in milliseconds: a database that lives ends it before we do. */
const STATEMENT_MS = 8_000;
/** Most queries that wait at a time; more are refused at once. */
const MOST_WAITING = 5_000;
/** First and longest pause before a query is repeated, in milliseconds. */
const PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** Longest time for a connection to be made, and longest pause before another attempt, in seconds. */
const CONNECT_S = 5;
const LONGEST_BACKOFF_S = 1;
const END_S = 2;

/** Errors of a connection, of a server that stops or starts, and of transactions that had to give way. */
const LOST =
  /^(CONNECTION_(CLOSED|DESTROYED)|CONNECT_TIMEOUT|ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08\w{3}|57P0[123]|53300|40001|40P01)$/;

/** Opens connections, which are made when they are needed. */
export function openConnections(url: string, options: ConnectionOptions): Connections {
  let sql = connected();
  let waiting = 0;
  let answeredAt = performance.now();
  return {
    query,
    get sql() {
      return sql;
    },
    close: () => sql.end({ timeout: END_S }),
  };

  function connected(): Sql {
    return postgres(url, {
      onnotice: () => {},
      connect_timeout: CONNECT_S,
      backoff: (attempts) => Math.min(0.05 * 2 ** attempts, LONGEST_BACKOFF_S),
      ...options,
      // no query here has an array, and the client would leave it unheard where the connection is lost at this question
      fetch_types: false,
      connection: { application_name: "sluice", statement_timeout: STATEMENT_MS, ...options.connection },
    });
  }

  async function query(make: (sql: Sql, nth: number) => PendingQuery<Row[]>): Promise<readonly Row[]> {
    if (waiting >= MOST_WAITING) throw new Error(`${MOST_WAITING} queries wait for the database already`);
    waiting += 1;
    const until = performance.now() + ANSWER_MS;
    try {
      for (let nth = 0, pause = PAUSE_MS; ; nth += 1, pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
        try {
          return await answered(() => make(sql, nth), until);
        } catch (error) {
          if (!LOST.test(String((error as { code?: unknown }).code)) || performance.now() + pause > until)
            throw error;
          await new Promise((resolve) => setTimeout(resolve, pause));
        }
      }
    } finally {
      waiting -= 1;
    }
  }

  async function answered(make: () => PendingQuery<Row[]>, until: number): Promise<readonly Row[]> {
    const used = sql;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => {
          replace(used);
          reject(new Error(`the database did not answer within ${ANSWER_MS / 1000} s`));
        },
        Math.max(until - performance.now(), 0),
      );
    });
    try {
      const rows = await Promise.race([make(), late]);
      answeredAt = performance.now();
      return rows;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Gives connections up on which nothing has been answered for too long: the network may hold them open for minutes. */
  function replace(used: Sql): void {
    if (used !== sql || performance.now() - answeredAt < ANSWER_MS) return;
    sql = connected();
    void used.end({ timeout: 0 });
  }
}
