import type { Host } from "@sluice/worker-proxy";
import {
  ensure,
  findServer,
  type PluginServer,
  Refusal,
  type SQL,
  type StoredPart,
  type Value,
} from "@sluice/worker-proxy/plugin";
import type { DurableObjectClass, DurableObjectNamespace, ObjectState } from "./cloudflare-types.js";
import { Listeners } from "./listeners.js";
import { type LocalDatabase, LocalHost } from "./local-host.js";
import { findNamed, indexParts, type NamedSteps } from "./named-steps.js";
import { createErrorReply, createReply, type ObjectRequest } from "./object-messages.js";
import { Queues } from "./queues.js";
import type { Query } from "./run-step.js";
import { TimerRows } from "./timer-rows.js";
import { Timers } from "./timers.js";
import { checkValues, readSQL } from "./values.js";

/** A host of `cloudflareHost`. */
export interface CloudflareHost<Env> extends Host<Env> {
  readonly namespace: ReadNamespace<Env>;
}

/** Returns the binding of a class from the environment. */
type ReadNamespace<Env> = (env: Env) => DurableObjectNamespace | undefined;

/** The hosts of all proxies that were passed to {@link durableObject}. */
const classes = new WeakSet<object>();
/** The newest of these hosts, with the functions that return their bindings. */
const namespaces = new Map<object, ReadNamespace<never>>();
/** More proxies than a program has. The bound protects memory if a program creates proxies repeatedly. */
const MAX_NAMESPACES = 100;
/** The host of each checked binding. */
let checked = new WeakMap<object, object>();

/**
 * Checks that the proxy of a host has a class, and that no other proxy uses its binding. With a shared binding, the
 * jobs of the other proxy would send requests to another gateway.
 *
 * @throws {Refusal} 500 `misconfigured`
 */
export function checkClass<Env>(host: object, namespace: DurableObjectNamespace, env: Env): void {
  if (checked.get(namespace) === host) return;
  const others = [...namespaces].filter(([other]) => other !== host);
  const isOwn = others.every(([, read]) => read(env as never) !== namespace);
  if (!isOwn || !classes.has(host)) throw new Refusal("misconfigured", { problem: WRONG_CLASS });
  checked.set(namespace, host);
}

function addClass(host: object, read: ReadNamespace<never>): void {
  classes.add(host);
  namespaces.set(host, read);
  const [oldest] = namespaces.keys();
  if (oldest && namespaces.size > MAX_NAMESPACES) namespaces.delete(oldest);
  checked = new WeakMap();
}

const WRONG_CLASS =
  "cloudflareHost: its binding has no class, or that of another proxy; give each proxy a class, durableObject(proxy), and bind it";

/** Values that all objects of a class share. */
interface ClassSetup<Env> {
  readonly server: PluginServer<Env>;
  readonly parts: readonly StoredPart[];
  readonly named: NamedSteps;
  readonly namespace: ReadNamespace<Env>;
}

/** Pause between alarms while jobs run, because the platform ends an object without an event for 70 s. */
const AWAKE_MS = 50_000;
/** Pauses before more timers are claimed: while the maximum number of jobs runs, and after the database failed. */
const FULL_MS = 1_000;
const FAILED_MS = 30_000;

/**
 * Creates the class of the Durable Objects that store the data of a proxy's plugins. One class serves all plugins.
 *
 * Bind it in `wrangler.jsonc`: `"durable_objects": { "bindings": [{ "name": "SLUICE", "class_name": "Sluice" }] }` and
 * `"migrations": [{ "tag": "v1", "new_sqlite_classes": ["Sluice"] }]`.
 *
 * @param proxy the proxy of `createProxy`, whose `host` is a `cloudflareHost`
 * @throws {TypeError} for any other proxy
 * @example
 * ```ts
 * const proxy = createProxy<Env>({ ...options, host: cloudflareHost((env) => env.SLUICE), plugins });
 * export class Sluice extends durableObject(proxy) {}
 * export default proxy;
 * ```
 */
export function durableObject<Env = unknown>(proxy: object): DurableObjectClass<Env> {
  const server = findServer<Env>(proxy);
  const { database: host } = server;
  const namespace = (host as Partial<CloudflareHost<Env>> | undefined)?.namespace;
  ensure(host && namespace, "durableObject: give a proxy whose host is cloudflareHost(…)");
  addClass(host, namespace);
  const parts = server.plugins.flatMap(({ storage }) => storage ?? []);
  const setup = { server, parts, named: indexParts(parts), namespace };
  return class {
    readonly #object: KeyObject<Env>;
    constructor(state: ObjectState, env: Env) {
      this.#object = new KeyObject(state, env, setup);
    }
    fetch(request: Request): Promise<Response> {
      return this.#object.respond(request);
    }
    alarm(): Promise<void> {
      return this.#object.startTimers();
    }
  };
}

/**
 * Adds `WITHOUT ROWID`, so that a table is stored in its primary key. The platform charges for each written row of a
 * table and of its indexes. Without this the primary key would be a separate index.
 */
function dropRowId(table: string): string {
  return table.startsWith("CREATE TABLE") ? `${table} WITHOUT ROWID` : table;
}

/** The Durable Object of one key: its data, and the jobs and sources that run in it. */
class KeyObject<Env> {
  readonly #state: ObjectState;
  readonly #env: Env;
  readonly #setup: ClassSetup<Env>;
  readonly #report: (subject: string, error: unknown) => void;
  readonly #queues = new Queues(true);
  readonly #rows = new TimerRows(false);
  readonly #timers: Timers;
  readonly #host: LocalHost;
  #key: string | undefined;

  constructor(state: ObjectState, env: Env, setup: ClassSetup<Env>) {
    const { server, parts, named } = setup;
    const report = (subject: string, error: unknown) => void server.log(subject, error, { env });
    this.#state = state;
    this.#env = env;
    this.#setup = setup;
    this.#report = report;
    const listeners = new Listeners((error) => report("a listener", error));
    const rows = this.#rows;
    // the transaction that stores a timer sets the alarm
    const onSchedule = () => {};
    const others = server.host(env);
    this.#host = new LocalHost({
      database: {
        ...{ rows, listeners },
        read: (key, work) => this.#queues.run(key, () => work(this.#query)),
        transact: (_, work) => this.#transact(() => work(this.#query, Date.now())),
        setAlarm: () => this.#setAlarm(),
        publish: (key) => listeners.notify(key),
      },
      ...{ env, report, onSchedule },
      onStart: async (ended) => {
        state.waitUntil(ended);
        await this.#setAlarm();
      },
      findOther: (key) => (key === this.#key ? undefined : others),
    });
    const transact: LocalDatabase["transact"] = (_, work) =>
      this.#transact(async () => {
        const result = await work(this.#query, Date.now());
        await this.#setAlarm();
        return result;
      });
    const { createContext } = this.#host;
    this.#timers = new Timers(
      rows,
      { database: { transact }, createContext, report, onSchedule },
      named.jobs,
    );
    state.blockConcurrencyWhile(async () => {
      const tables = [...rows.tables, ...parts.flatMap(({ tables }) => tables)];
      for (const table of tables) state.storage.sql.exec(dropRowId(readSQL(table, "sqlite")));
      // the platform drops an alarm after six failures
      if ((await state.storage.getAlarm()) === null) await this.#setAlarm();
    });
  }

  /** Handles a request of a Worker: runs an operation, starts a job or opens a source. */
  async respond(request: Request): Promise<Response> {
    try {
      const { key, name, input } = (await request.json()) as ObjectRequest;
      this.#checkBinding(key);
      const { steps, jobs, sources } = this.#setup.named;
      const host = this.#host;
      const given = input as never;
      const action = new URL(request.url).pathname.slice(1);
      if (action === "open")
        return new Response(await host.open(key, findNamed(sources, name), given, request.signal));
      if (action === "start")
        return createReply((await host.start(key, findNamed(jobs, name), given)) ?? null);
      return createReply(await host.run(key, findNamed(steps, name), given));
    } catch (error) {
      return createErrorReply(error);
    }
  }

  /** Checks that the binding of this class leads to this object for the key. If not, another proxy sent the request. */
  #checkBinding(key: string): void {
    if (this.#key === key) return;
    const namespace = this.#setup.namespace(this.#env);
    if (namespace && String(namespace.idFromName(key)) !== String(this.#state.id))
      throw new Refusal("misconfigured", { problem: WRONG_CLASS });
    this.#key = key;
  }

  /** Starts due jobs. The alarm does not wait for their end, because other jobs may become due meanwhile. */
  async startTimers(): Promise<void> {
    try {
      // the transaction sets the next alarm, to the end of these jobs' leases at the latest
      if (this.#timers.isFull) await this.#setAlarm();
      else await this.#timers.begin();
    } catch (error) {
      this.#report("timers", error);
      // an alarm that throws too often would be dropped by the platform
      await this.#state.storage.setAlarm(Date.now() + FAILED_MS);
    }
    this.#state.waitUntil(this.#timers.ended());
  }

  /** Runs a transaction alone. It stores everything or nothing. */
  #transact<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#queues.run("", () => this.#state.storage.transaction(work));
  }

  /** Sets the alarm to the time of the next timer, or earlier while a job needs this object. */
  async #setAlarm(): Promise<void> {
    const { storage } = this.#state;
    const due = await this.#rows.readNext(this.#query, this.#readKey());
    const now = Date.now();
    const next = due !== null && this.#timers.isFull ? Math.max(due, now + FULL_MS) : due;
    const awake = this.#host.isRunning ? now + AWAKE_MS : null;
    const times = [next, awake].filter((time) => time !== null);
    const at = times.length === 0 ? null : Math.min(...times);
    // a write costs a thousand times as much as a read
    if ((await storage.getAlarm()) === at) return;
    if (at === null) await storage.deleteAlarm();
    else await storage.setAlarm(at);
  }

  #readKey(): string {
    if (this.#key !== undefined) return this.#key;
    const [row] = this.#state.storage.sql.exec("SELECT key FROM timers LIMIT 1").toArray();
    if (row) this.#key = String(row["key"]);
    return this.#key ?? "";
  }

  readonly #query: Query = async <Row>(sql: SQL, ...values: readonly Value[]): Promise<readonly Row[]> =>
    this.#state.storage.sql.exec(readSQL(sql, "sqlite"), ...checkValues(values)).toArray() as Row[];
}
