import type { PluginServer } from "./api/host.js";
import { notify } from "./notify.js";
import { respond } from "./proxy.js";
import { openAccount } from "./reading/reservation.js";
import { logCause } from "./refusals/log.js";
import { ensure } from "./refusals/read-option.js";
import { proxies, type Registered, type Settings } from "./settings.js";

/** The values that this package's own plugins get from their proxy. */
export interface Server<Env> extends PluginServer<Env> {
  readonly settings: Settings<Env>;
}

/** The hosts of all proxies. With a shared host, jobs of the second proxy would use the gateway of the first. */
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
  const found = proxies.get(proxy) as Registered<Env> | undefined;
  ensure(found, "proxy: give the proxy that createProxy made");
  found.server ??= openServer(found.settings);
  return found.server;
}

/** Opens the server of a proxy with its host. */
function openServer<Env>(settings: Settings<Env>): Server<Env> {
  const { plugins = [], table, basePath, host: database, log, readSecrets } = settings;
  const meter = settings.run?.meter;
  const parts = plugins.flatMap(({ storage }) => storage ?? []);
  const advice = "give what cloudflareHost(…), nodeHost(…) or postgresHost(…) returns";
  ensure(database || parts.length === 0, `host: a plugin stores data; ${advice}`);
  // a host that is not called has nothing to open
  ensure(!database || typeof database.open === "function", `host: ${advice}`);
  ensure(!database || !hosts.has(database), "host: belongs to one proxy; make another one");
  const writeLog: PluginServer<Env>["log"] = (subject, error, incoming) =>
    logCause(subject, error, { ...incoming, log });
  const report = (subject: string, error: unknown, env: Env) => void writeLog(subject, error, { env });
  const bound = database?.open({ parts, report });
  if (database) hosts.add(database);
  return {
    ...settings,
    settings,
    plugins,
    meter,
    database,
    log: writeLog,
    host(env) {
      ensure(bound, "host: this proxy has none");
      return bound(env);
    },
    holdBody: (bytes, { id }) => settings.countJobBody(id).add(bytes).release,
    async openTenancy(env, user) {
      const secrets = await readSecrets(env);
      const route = table.find(({ ids }) => ids);
      return secrets.length > 0 ? route?.group?.ids?.createTenancy(secrets, user) : undefined;
    },
    async openAccount(payable, reserve = meter && (() => meter.reserve(payable))) {
      return reserve && (await openAccount(reserve, payable, { log: writeLog }));
    },
    connectAs(user, env) {
      const hasId = typeof user?.id === "string" && user.id !== "";
      ensure(hasId, "user: a request needs the user that it is sent for");
      return {
        baseURL: `https://inside.invalid${basePath}`,
        fetch: (request) => respond({ settings, request, env, context: undefined, sender: user }),
      };
    },
    report: (event, env, context) => notify({ plugins, log: writeLog }, event, { env, context }),
  };
}
