import type { JobEvent } from "./events.js";
import type { Limits, ProxyOptions, Timeout } from "./options.js";
import type {
  Account,
  Checked,
  Exhausted,
  Meter,
  Payable,
  ProxyContext,
  ProxyPlugin,
  Reservation,
  User,
} from "./plugin.js";
import type { Tenancy } from "./routes.js";

/** A value of a row. SQLite, Postgres and Durable Objects store it alike. A whole number is at most 2^53. */
export type Value = string | number | null;

/** A value that can be sent to another process or to a Durable Object. */
export type JSONValue =
  | null
  | boolean
  | number
  | string
  | readonly JSONValue[]
  | { readonly [name: string]: JSONValue | undefined };

/** A statement that SQLite and Postgres both understand, or one for each. Durable Objects run the one for SQLite. */
export type SQL = string | { readonly sqlite: string; readonly postgres: string };

/** Reads the rows of one key. */
export interface Reader {
  readonly key: string;
  /**
   * Runs one SQL statement. Each `?` is the next value. Statements that are sent without an `await` between them take one
   * round trip.
   */
  query<Row = Record<string, Value>>(sql: SQL, ...values: readonly Value[]): Promise<readonly Row[]>;
}

/**
 * A transaction: all of it or nothing is stored, and no other transaction of the same key runs at the same time. It awaits
 * queries only. A `fetch`, a job or another operation in it is refused.
 */
export interface Transaction extends Reader {
  /** Time of the database in Unix milliseconds, read once the key is locked. It can go back when that clock does. */
  readonly now: number;
  /** Stores a timer that runs a job at a time. It replaces the timer with the same job and id. */
  schedule<Input extends JSONValue>(job: Job<Input>, timer: Timer<Input>): Promise<void>;
  /** Deletes a timer. */
  cancel(job: Pick<Job<never>, "name">, id: string): Promise<void>;
  /** Calls the listeners of this key, in every process, after the commit. */
  publish(): void;
}

/** A job that is due at a time. */
interface Timer<Input> {
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly input: Input;
}

/**
 * A named write. It can run twice with the same input, because a commit whose response was lost is repeated. The second
 * run must change nothing and return the same, so an input carries the ids of new rows.
 */
export interface Operation<Input, Output> {
  readonly name: string;
  readonly kind: "write";
  run(transaction: Transaction, input: Input): Promise<Output>;
}

/** A named read. It takes no lock; two of its statements may see different commits. */
export interface Reading<Input, Output> {
  readonly name: string;
  readonly kind: "read";
  run(reader: Reader, input: Input): Promise<Output>;
}

/** Work outside a transaction: requests to others, and operations. It runs at least once for each timer. */
export interface Job<Input> {
  readonly name: string;
  /**
   * Number of attempts, those included during which the process ended. Three in a row that end their process are the
   * last. Each failure is logged. After the last attempt the timer is deleted.
   */
  readonly attempts: number;
  run(context: JobContext, input: Input): Promise<void>;
  /**
   * Runs after the last attempt. Store here that the work was not done, or when to try it again, without the work that
   * may have ended the process. If it fails, it runs again with growing pauses, for about a week. Then the log reports
   * it, and the timer is deleted.
   *
   * @default the failures are only logged
   */
  onGivenUp?(context: JobContext, input: Input): Promise<void>;
}

/**
 * Bytes that arrive over time. All readers of a key are served in one place, and can share its reads. A source that has
 * nothing to send sends a comment at intervals: Workers notice by it that a reader has left.
 */
export interface Source<Input> {
  readonly name: string;
  run(context: HostContext, input: Input): AsyncGenerator<Uint8Array, void>;
}

/** The place where the jobs and sources of a key run: a process, or the Durable Object of the key. */
export interface HostContext {
  readonly host: BoundHost;
  readonly key: string;
  /** The environment that `createProxy` passes to its options. */
  readonly env: unknown;
  /** Aborts when the reader of a source has left, when a job takes longer than 15 minutes, and when the host closes. */
  readonly signal: AbortSignal;
  /**
   * Calls the listener after commits of this key that published, and whenever some may have been missed. Calls can be
   * merged. Returns a function that removes the listener.
   */
  subscribe(listener: () => void): () => void;
}

/** The context of a job. */
export interface JobContext extends HostContext {
  /** 1 for the first attempt; 0 for a job that `start` began. */
  readonly attempt: number;
}

/** The part of a plugin that a host stores and runs. Names are unique among all plugins. */
export interface StoredPart {
  /** Statements that create the tables. Each primary key begins with the column `key`. */
  readonly tables: readonly SQL[];
  readonly operations: readonly (Operation<never, unknown> | Reading<never, unknown>)[];
  readonly jobs?: readonly Job<never>[];
  readonly sources?: readonly Source<never>[];
}

/** A host, bound to an environment. */
export interface BoundHost {
  /**
   * Runs an operation or a reading.
   *
   * @throws what the operation throws; after that nothing of it is stored
   */
  run<Input extends JSONValue, Output>(
    key: string,
    operation: Operation<Input, Output> | Reading<Input, Output>,
    input: Input,
  ): Promise<Output>;
  /** Starts a job now, in the place that lives as long as the job. Nothing starts it again when that place ends. */
  start<Input extends JSONValue>(key: string, job: Job<Input>, input: Input): Promise<void>;
  /** Opens a source. Its stream fails when its process or Durable Object ends. Then open the source again, at the last position. */
  open<Input extends JSONValue>(
    key: string,
    source: Source<Input>,
    input: Input,
  ): Promise<ReadableStream<Uint8Array>>;
}

/** The values that `createProxy` gives its host. */
interface HostSetup<Env = unknown> {
  readonly parts: readonly StoredPart[];
  /** Logs a failure of a job, a source or the database, with its cause. */
  report(subject: string, error: unknown, env: Env): void;
}

/**
 * The database behind a proxy: `cloudflareHost()`, `nodeHost()` or `postgresHost()` of `@sluice/durable`. `createProxy`
 * opens it once.
 */
export interface Host<Env = unknown> extends Checked<Env> {
  /** Returns the host for the environment of a request. */
  open(setup: HostSetup<Env>): (env: Env) => BoundHost;
}

/** The address and the keys of the gateway, for one request. `connect` of a server returns them. */
export interface GatewayConnection {
  readonly baseURL: string;
  /** The key in use, and the next key while keys are rotated. */
  readonly apiKeys: readonly string[];
  /** The key that the gateway accepted last, in this isolate, after it had refused another one. */
  readonly accepted: { key?: string };
  /** Sends a request, by `fetch` of the options or of the platform. */
  readonly send: (url: string, init: RequestInit) => Promise<Response>;
  /** Longest time until the headers of a response, in milliseconds. */
  readonly headersMs: number;
}

/** The log of a proxy: the options with values that no line may show, and the lines that were written. */
export interface Log<Env = unknown> extends Partial<Pick<ProxyOptions<Env>, "apiKey" | "secret">> {
  /** The lines of the last minute, which are written once. The first line opens them. */
  lines?:
    | {
        add(subject: string, text: string, about?: string): void;
        flush(): void;
      }
    | undefined;
}

/** The proxy, as its plugins see it. */
export interface PluginServer<Env = unknown> {
  /** The path before the paths of the routes: `/api`. */
  readonly basePath: string;
  /** True under `authenticate: "public"`. */
  readonly isPublic: boolean;
  readonly limits: Required<Limits>;
  readonly timeout: Required<Timeout>;
  /** All plugins of the proxy. */
  readonly plugins: readonly ProxyPlugin<Env>[];
  /** The plugin that reserves what requests cost. */
  readonly meter: Meter<Env> | undefined;
  /**
   * Logs an error in one line, without a value of `env`, a credential, a secret, or a text that looks like a key. Equal
   * lines of one minute are written once, and then counted.
   *
   * @param incoming the environment; and the request, whose credentials the line must not show
   */
  log(
    subject: string,
    error: unknown,
    incoming: { readonly env: Env; readonly request?: Request | undefined },
  ): Promise<void>;
  /** The option `host`. */
  readonly database: Host<Env> | undefined;
  /** Returns the host of the proxy. */
  host(env: Env): BoundHost;
  /** Reads the proxy's own secrets, the first one in use. Without `secret` there are none. */
  readSecrets(env: Env): readonly string[] | Promise<readonly string[]>;
  /** Reads the address and the keys of the gateway. @throws {Refusal} 500 `misconfigured` */
  connect(env: Env): Promise<GatewayConnection>;
  /**
   * Counts the bytes of a body that a job holds, until the returned function is called. The bodies of jobs have the bounds
   * of `limits.maxOpenBodyBytes`, apart from those of requests.
   *
   * @throws {Refusal} 429 or 503 beyond a bound
   */
  holdBody(bytes: number, user: User): () => void;
  /** Opens the marks of the ids of a user. Undefined where ids have no marks: without `secret`, or without routes with ids. */
  openTenancy(env: Env, user: User): Promise<Tenancy | undefined>;
  /**
   * Reserves the most that a request can cost. Call it right before the request is sent, and close the account after it.
   *
   * @param reserve @default `reserve` of the meter; without a meter the account is undefined
   * @throws {Refusal} 429 when nothing is left, 503 when the meter fails
   */
  openAccount(
    payable: Payable<Env>,
    reserve?: () => Promise<Reservation | Exhausted>,
  ): Promise<Account | undefined>;
  /**
   * Connects the operator's own code to the proxy as a user who was authenticated before. Limits, caps, budgets, stored
   * responses and `idempotency()` hold as for the user's own requests. Only routes of the gateway are open. Nothing in a
   * request leads here: the code must have the proxy itself.
   *
   * @throws {TypeError} for a user without an id
   * @example
   * ```ts
   * const client = createClient(findServer<Env>(proxy).connectAs({ id: "ada" }, env));
   * ```
   */
  connectAs(user: User, env: Env): UserConnection;
  /** Reports the end of a job to `onEvent` of the proxy and its plugins. */
  report(event: JobEvent, env: Env, context?: ProxyContext): void;
}

/** The options of `createClient` for a client that sends through a proxy in the same process, as one user. */
interface UserConnection {
  readonly baseURL: string;
  readonly fetch: (request: Request) => Promise<Response>;
}
