import type { JobEvent } from "./api/events.js";
import type { BoundHost, HostSetup, PluginServer } from "./api/host.js";
import type { ProxyContext } from "./api/plugin.js";
import { logCause, notifyOf } from "./refusals/log.js";
import { ensure } from "./refusals/read-option.js";
import type { Settings } from "./settings.js";

/** The values that the plugins of `@sluice/durable` get from their proxy: the public ones, and its settings. */
export interface Server<Env> extends PluginServer<Env> {
  readonly settings: Settings<Env>;
  /** The parts of all plugins, for the class of Durable Objects that runs them. */
  readonly setup: HostSetup<Env>;
  /** Reports the end of a job to `onEvent` of the proxy and its plugins. */
  report(event: JobEvent, env: Env, context?: ProxyContext): void;
}

/** The hosts of all proxies. The objects of a second proxy would ask the gateway of the first one. */
const hosts = new WeakSet<object>();

/** Opens the host of a proxy, and connects its plugins. */
export function openServer<Env>(settings: Settings<Env>): Server<Env> {
  const { plugins, host, log } = settings;
  const parts = plugins.flatMap(({ storage }) => storage ?? []);
  ensure(
    !host || typeof host.open === "function",
    "host: give what cloudflareHost(…), nodeHost(…) or postgresHost(…) returns",
  );
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
    host(env): BoundHost {
      ensure(bound, "host: this proxy has none");
      return bound(env);
    },
    report(event, env, context) {
      for (const { onEvent } of [...plugins, settings])
        notifyOf(onEvent && ((job) => onEvent(job, env, context)), event, env);
    },
  };
  for (const plugin of plugins) plugin.connect?.(server);
  return server;
}

/** Returns all that a server has, for the plugins of this repository. */
export function serverIn<Env>(server: PluginServer<Env>): Server<Env> {
  return server as Server<Env>;
}
