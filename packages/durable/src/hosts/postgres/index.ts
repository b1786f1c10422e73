import type { DurableObjectClass } from "../../objects/object.js";
import { DRAIN_MS, type Objects, openBound } from "../process/bound-objects.js";
import { type DoorOptions, openDoor } from "../process/neighbours/door.js";
import { openForwarding } from "../process/neighbours/forward.js";
import type { ConnectionOptions } from "./connections.js";
import { openPostgresKeeper } from "./postgres-keeper.js";

export type { ClosableHost } from "../../host/closable.js";
export {
  type PostgresConnection,
  type PostgresHostOptions,
  postgresHost,
} from "../../host/postgres.js";
export type { Objects } from "../process/bound-objects.js";

/** Options of {@link openObjects}. */
export interface ObjectsOptions<Env, Names extends string> {
  /** Address of the database, `postgres://user:password@host:5432/name`. */
  readonly url: string;
  /**
   * Options of the package `postgres`, such as `ssl`; `max` is the number of connections for objects. One more is for the
   * lease of the process, and one to hear of alarms. @default { max: 5 }
   */
  readonly connection?: ConnectionOptions | undefined;
  /** Name of the schema of Postgres that has the tables. It is made where it is missing. @default "sluice" */
  readonly schema?: string | undefined;
  /** The classes of objects by the names of their bindings, `{ BUDGET: Budget }`. A name keeps its objects: don't change it. */
  readonly objects: Readonly<Record<Names, DurableObjectClass<never>>>;
  /** Variables and secrets, as `process.env` has them. */
  readonly env: Env;
  /**
   * Place at which this process takes requests of the others for the objects that it has. Give the host where processes
   * run on several machines. @default a free port of this machine, for processes on it
   */
  readonly neighbours?: DoorOptions | undefined;
  /**
   * Time after which other processes take over the objects of one that is lost, in milliseconds; at least 1,000. A process
   * renews it three times in this time, by one query. @default 15_000
   */
  readonly leaseMs?: number | undefined;
}

const LEAST_LEASE_MS = 1_000;

/**
 * Keeps the durable parts of the proxy in Postgres, for any number of processes: budgets, kept answers, creates that are
 * billed once, watched tasks, notices. One process at a time has an object; where it is lost, another one takes over.
 * Needs the package `postgres`.
 *
 * @throws {Error} where the database can't be reached, or a later version of this package wrote the tables
 * @example
 * ```ts
 * import { Budget, budget, type ObjectNamespace, mostTokens } from "@sluice/durable";
 * import { openObjects } from "@sluice/durable/postgres";
 * import { createProxy } from "@sluice/worker-proxy";
 * import { userOf } from "./sign-in.js"; // yours: who is asking, { id } or null
 *
 * interface Settings {
 *   readonly GATEWAY_API_KEY: string | undefined;
 *   readonly BUDGET: ObjectNamespace;
 * }
 * const objects = await openObjects({
 *   url: process.env["DATABASE_URL"] ?? "postgres://localhost/sluice",
 *   env: { GATEWAY_API_KEY: process.env["GATEWAY_API_KEY"] },
 *   objects: { BUDGET: Budget },
 * });
 * const meter = budget<Settings>({
 *   namespace: (env) => env.BUDGET,
 *   limits: { user: 200_000 }, // tokens
 *   windowMs: 86_400_000,
 *   reserveFor: mostTokens,
 * });
 * const proxy = createProxy<Settings>({
 *   baseURL: "https://gateway.example.com",
 *   apiKey: (env) => env.GATEWAY_API_KEY,
 *   authenticate: (request) => userOf(request),
 *   origins: ["https://app.example.com"],
 *   models: { "delta-5.3": { max_tokens: 8192 } },
 *   plugins: [meter],
 * });
 * const answer = (request: Request) => proxy.fetch(request, objects.env);
 * process.once("SIGTERM", () => objects.close());
 * ```
 */
export async function openObjects<Env extends object, Names extends string>({
  objects,
  env,
  schema = "sluice",
  leaseMs = 15_000,
  neighbours,
  ...options
}: ObjectsOptions<Env, Names>): Promise<Objects<Env, Names>> {
  if (!Number.isSafeInteger(leaseMs) || leaseMs < LEAST_LEASE_MS)
    throw new TypeError(`leaseMs: give a whole number from ${LEAST_LEASE_MS} up`);
  const door = await openDoor((object, request) => live.answer(object, request), neighbours);
  const forwarding = openForwarding();
  const keeper = await openPostgresKeeper({ ...options, schema, leaseMs, address: door.address }).catch(
    async (error: unknown) => {
      await door.close();
      throw error;
    },
  );
  const { live, env: bound } = openBound(keeper, objects, env, {
    forward: forwarding.forward,
  });
  return {
    env: bound,
    async close(withinMs = DRAIN_MS) {
      await live.close(withinMs);
      forwarding.close();
      await door.close();
    },
  };
}
