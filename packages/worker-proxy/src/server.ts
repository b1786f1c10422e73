import type { PluginServer } from "./api/host.js";
import type { User } from "./api/plugin.js";
import { notify } from "./notify.js";
import { respond } from "./proxy.js";
import { logCause } from "./refusals/log.js";
import { ensure } from "./refusals/read-option.js";
import { proxies, type Registered, type Settings } from "./settings.js";

/** The values that this package's own plugins get from their proxy. */
export interface Server<Env> extends PluginServer<Env> {
  readonly settings: Settings<Env>;
}

/** The hosts of all proxies. The objects of a second proxy would ask the gateway of the first one. */
const hosts = new WeakSet<object>();

/**
 * Returns the server of a proxy.
 *
 * @throws {TypeError} for anything but a proxy of `createProxy`
 * @example
 * ```ts
 * const { timeout } = findServer<Env>(proxy);
 * ```
 */
export function findServer<Env>(proxy: object): PluginServer<Env> {
  const found = findProxy<Env>(proxy);
  found.server ??= openServer(found.settings);
  return found.server;
}

/** Opens the server of a proxy with its host. */
function openServer<Env>(settings: Settings<Env>): Server<Env> {
  const { plugins, host: database, log } = settings;
  const parts = plugins.flatMap(({ storage }) => storage ?? []);
  const advice = "give what cloudflareHost(…), nodeHost(…) or postgresHost(…) returns";
  ensure(database || parts.length === 0, `host: a plugin stores data; ${advice}`);
  // a host that is not called has nothing to open
  ensure(!database || typeof database.open === "function", `host: ${advice}`);
  ensure(!database || !hosts.has(database), "host: belongs to one proxy; make another one");
  const setup: PluginServer<Env>["setup"] = {
    parts,
    report: (subject, error, env) => void logCause(subject, error, { env, log }),
  };
  const bound = database?.open(setup);
  if (database) hosts.add(database);
  const writeLog: PluginServer<Env>["log"] = (subject, error, incoming) =>
    logCause(subject, error, { ...incoming, log });
  return {
    ...settings,
    settings,
    meter: settings.run?.meter,
    database,
    setup,
    log: writeLog,
    host(env) {
      ensure(bound, "host: this proxy has none");
      return bound(env);
    },
    report: (event, env, context) => notify({ plugins, log: writeLog }, event, { env, context }),
  };
}

function findProxy<Env>(proxy: object) {
  const found = proxies.get(proxy);
  ensure(found, "proxy: give the proxy that createProxy made");
  return found as unknown as Registered<Env>;
}

/** The options of `createClient` for a client that sends through a proxy in the same process, as one user. */
export interface UserConnection {
  readonly baseURL: string;
  readonly fetch: (request: Request) => Promise<Response>;
}

/**
 * Connects the operator's own code to a proxy as a user who was authenticated before. Limits, caps, budgets, stored
 * responses and `idempotency()` hold as for the user's own requests. Only routes of the gateway are open. Nothing in a
 * request leads here: the code must have the proxy itself.
 *
 * @throws {TypeError} for anything but a proxy of `createProxy` and a user with an id
 * @example
 * ```ts
 * const client = createClient(connectAs(proxy, { id: "ada" }, env));
 * ```
 */
export function connectAs<Env>(proxy: object, user: User, env: Env): UserConnection {
  const { settings } = findProxy<Env>(proxy);
  ensure(
    typeof user?.id === "string" && user.id !== "",
    "user: a request needs the user that it is sent for",
  );
  return {
    baseURL: `https://inside.invalid${settings.basePath}`,
    fetch: (request) => respond(settings, { request, env, context: undefined }, user),
  };
}
