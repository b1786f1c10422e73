import type { ProxyPlugin } from "@sluice/worker-proxy";
import { type BoundHost, definePlugin, type PluginServer } from "@sluice/worker-proxy/plugin";
import type { Quota } from "./commit.js";
import { createEvents, readChanges, serveEvents } from "./events.js";
import { pull, servePull } from "./pull.js";
import { push, servePush } from "./push.js";
import { createRoute } from "./request.js";
import { search, serveSearch } from "./search.js";
import { TABLES } from "./tables.js";
import { runOperations } from "./turns/run-operations.js";
import { createRunTurn } from "./turns/run-turn.js";
import { createTurnRoutes, turnOperations } from "./turns/serve-turns.js";
import { checkTurnOptions, type TurnOptions } from "./turns/turn-options.js";
import { turnTimer } from "./turns/turn-rows.js";
import { createUserData, userDataOperations } from "./user-data.js";

/** Options of {@link sync}. */
export interface SyncOptions<Env = unknown> {
  /** Limits of the data of one user. @default { records: 200_000, bytes: 500_000_000 } */
  readonly quota?: Partial<Quota>;
  /** Turns that run on the server, even while no device is connected. @default none */
  readonly turns?: TurnOptions<Env>;
}

/**
 * Stores the records of each user for all devices of the user, over the protocol in `PROTOCOL.md`. Needs the `host` of
 * the proxy, and a function as `authenticate`: `"public"` does not tell users apart.
 *
 * @throws {TypeError} for an unknown or invalid option
 * @example
 * ```ts
 * export default createProxy<Env>({ ...options, host: nodeHost({ file: "sluice.db" }), plugins: [sync()] });
 * ```
 */
export function sync<Env = unknown>(options: SyncOptions<Env> = {}): ProxyPlugin<Env> {
  const unknown = Object.keys(options).find((name) => name !== "quota" && name !== "turns");
  if (unknown) throw new TypeError(`sync: ${unknown}: is not an option; give quota or turns`);
  const quota = checkQuota(options.quota);
  const setup = options.turns && checkTurnOptions(options.turns);
  const events = createEvents();
  let server: PluginServer<Env> | undefined;
  const getServer = (): PluginServer<Env> => {
    if (!server) throw new TypeError("sync: list it in the `plugins` of createProxy");
    return server;
  };
  const run = setup && createRunTurn(setup, quota, getServer);
  const host = (env: Env): BoundHost => getServer().host(env);
  return definePlugin({
    storage: {
      tables: TABLES,
      operations: [
        push,
        pull,
        readChanges,
        search,
        ...turnOperations,
        ...runOperations,
        ...userDataOperations,
      ],
      jobs: run ? [turnTimer, run] : [],
      sources: [events],
    },
    connect(connected) {
      server = connected;
      if (server.isPublic)
        throw new TypeError("sync: authenticate: give a function; the people of a public proxy are one user");
    },
    features: { sync: "sync" },
    userData: createUserData(host),
    routes: [
      createRoute(host, "pull", servePull, { needsAccount: false }),
      createRoute(host, "push", (request) => servePush(quota, request)),
      createRoute(host, "search", serveSearch),
      createRoute(host, "events", (request) => serveEvents(events, request), {
        method: "GET",
        query: ["since"],
      }),
      ...(run ? createTurnRoutes(run, host) : []),
    ],
  });
}

function checkQuota({ records = 200_000, bytes = 500_000_000, ...others }: Partial<Quota> = {}): Quota {
  for (const [name, value] of Object.entries({ records, bytes, ...others }))
    if (!Number.isSafeInteger(value) || value < 1 || name in others)
      throw new TypeError(`sync: quota.${name}: give \`records\` and \`bytes\`, whole numbers from 1 up`);
  return { records, bytes };
}
