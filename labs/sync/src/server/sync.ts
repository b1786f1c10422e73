import type { BoundHost, PluginServer, ProxyPlugin } from "@sluice/worker-proxy";
import { serverIn } from "@sluice/worker-proxy/internal";
import { deleteDropped, deleteStep, drop, serveDrop } from "./drop.js";
import { createEvents, readChanges, serveEvents } from "./events.js";
import { pull, servePull } from "./pull.js";
import { createPush, type Quota, servePush } from "./push.js";
import { createRoute } from "./request.js";
import { search, serveSearch } from "./search.js";
import { TABLES } from "./tables.js";
import { createUserData, userDataOperations } from "./user-data.js";

/** Options of {@link sync}. */
export interface SyncOptions {
  /** What one user may store. @default { records: 200_000, bytes: 500_000_000 } */
  readonly quota?: Partial<Quota>;
}

/**
 * Stores the records of users, for devices that share them: the server of the protocol in `PROTOCOL.md`. It needs the
 * `host` of the proxy, and users: `authenticate: "public"` has none.
 *
 * @throws {TypeError} for an option that is unknown or can't work
 * @example
 * ```ts
 * export default createProxy<Env>({ ...options, host: nodeHost({ file: "sluice.db" }), plugins: [sync()] });
 * ```
 */
export function sync<Env = unknown>(options: SyncOptions = {}): ProxyPlugin<Env> {
  const push = createPush(checkQuota(options.quota));
  const events = createEvents();
  let server: PluginServer<Env> | undefined;
  const host = (env: Env): BoundHost => {
    if (!server) throw new TypeError("sync: list it in the `plugins` of createProxy");
    return server.host(env);
  };
  return {
    storage: {
      tables: TABLES,
      operations: [push, pull, drop, deleteStep, readChanges, search, ...userDataOperations],
      jobs: [deleteDropped],
      sources: [events],
    },
    connect(connected) {
      if (serverIn(connected).settings.isPublic)
        throw new TypeError(
          "sync: give `authenticate` a function; all people are one user of a public proxy",
        );
      server = connected;
    },
    offers: { sync: "sync" },
    userData: createUserData(host),
    routes: [
      createRoute("account", { host, needsAccount: false, serve: async ({ account }) => ({ account }) }),
      createRoute("pull", { host, needsAccount: false, serve: servePull }),
      createRoute("push", {
        host,
        serve: (request) => (request.body["drop"] === true ? serveDrop(request) : servePush(push, request)),
      }),
      createRoute("search", { host, serve: serveSearch }),
      createRoute("events", {
        host,
        method: "GET",
        query: ["since"],
        serve: (request) => serveEvents(events, request),
      }),
    ],
  };
}

function checkQuota({ records = 200_000, bytes = 500_000_000, ...others }: Partial<Quota> = {}): Quota {
  for (const [name, value] of Object.entries({ records, bytes, ...others }))
    if (!Number.isSafeInteger(value) || value < 1 || name in others)
      throw new TypeError(`sync: quota.${name}: give \`records\` and \`bytes\`, whole numbers from 1 up`);
  return { records, bytes };
}
