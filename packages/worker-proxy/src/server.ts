import type { JobEvent } from "./api/events.js";
import type { BoundHost, HostSetup, PluginServer } from "./api/host.js";
import type { ProxyContext, User } from "./api/plugin.js";
import { logCause, notifyListener } from "./refusals/log.js";
import { ensure } from "./refusals/read-option.js";
import type { Settings } from "./settings.js";

/** The values that plugins get from their proxy: the public ones, and its settings. */
export interface Server<Env> extends PluginServer<Env> {
  readonly settings: Settings<Env>;
  /** The parts of all plugins, for the class of Durable Objects that runs them. */
  readonly setup: HostSetup<Env>;
  /** Reports the end of a job to `onEvent` of the proxy and its plugins. */
  report(event: JobEvent, env: Env, context?: ProxyContext): void;
  /** Serves a request of the operator's own code for a user. */
  readonly serveAs: ServeAs<Env>;
}

/** Serves a request of the operator's own code for a user, who does not have to sign in. */
export type ServeAs<Env> = (request: Request, user: User, env: Env) => Promise<Response>;

/** The servers of all proxies. */
const servers = new WeakMap<object, Server<never>>();
/** The hosts of all proxies. The objects of a second proxy would ask the gateway of the first one. */
const hosts = new WeakSet<object>();

/** Opens the host of a proxy, and connects its plugins. */
export function openServer<Env>(proxy: object, settings: Settings<Env>, serveAs: ServeAs<Env>): void {
  const { plugins, host, log } = settings;
  const parts = plugins.flatMap(({ storage }) => storage ?? []);
  ensure(
    host || parts.length === 0,
    "host: a plugin stores data; give cloudflareHost(…), nodeHost(…) or postgresHost(…)",
  );
  const setup: HostSetup<Env> = {
    parts,
    report: (subject, error, env) => void logCause(subject, error, { env, log }),
  };
  ensure(!host || !hosts.has(host), "host: belongs to one proxy; make another one");
  const bound = host?.open(setup);
  if (host) hosts.add(host);
  const server: Server<Env> = {
    settings,
    setup,
    serveAs,
    host(env): BoundHost {
      ensure(bound, "host: this proxy has none");
      return bound(env);
    },
    report(event, env, context) {
      for (const { onEvent } of [...plugins, settings])
        notifyListener(onEvent && ((job) => onEvent(job, env, context)), event, env);
    },
  };
  servers.set(proxy, server as Server<never>);
  for (const plugin of plugins) plugin.connect?.(server);
}

/**
 * Returns the server of a proxy.
 *
 * @throws {TypeError} for anything but a proxy of `createProxy`
 * @example
 * ```ts
 * const { settings } = findServer<Env>(proxy);
 * ```
 */
export function findServer<Env>(proxy: object): Server<Env> {
  const server = servers.get(proxy);
  ensure(server, "proxy: give the proxy that createProxy made");
  return server as unknown as Server<Env>;
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
  const { settings, serveAs } = findServer<Env>(proxy);
  ensure(
    typeof user?.id === "string" && user.id !== "",
    "user: a request needs the user that it is sent for",
  );
  return {
    baseURL: `https://inside.invalid${settings.basePath}`,
    fetch: (request) => serveAs(request, user, env),
  };
}

/**
 * Returns the server that `connect` of a plugin gets, with the settings of the proxy. They are not stable.
 *
 * @example
 * ```ts
 * let server: Server<Env> | undefined;
 * const plugin: ProxyPlugin<Env> = {
 *   connect(connected) {
 *     server = castServer(connected);
 *   },
 * };
 * ```
 */
export function castServer<Env>(server: PluginServer<Env>): Server<Env> {
  return server as Server<Env>;
}
