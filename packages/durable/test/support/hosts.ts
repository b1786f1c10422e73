import { nodeHost } from "@sluice/durable/node";
import { postgresHost } from "@sluice/durable/postgres";
import { createProxy, type GatewayProxy, type ProxyOptions } from "@sluice/worker-proxy";
import type { BoundHost, StoredPart } from "@sluice/worker-proxy/plugin";
import { type PostgresServer, startPostgres } from "./postgres-server.js";

/** A host on which the scenarios of plugins run in the tests' own process. */
export type HostKind = "node" | "postgres";
export const hostKinds: readonly HostKind[] = ["node", "postgres"];

/** The key of the gateway under test. */
export const GATEWAY_KEY = "gateway-key-0123456789";

/** Options of {@link openProxy}. The gateway is `fetch`. */
export type OpenOptions = Partial<ProxyOptions<unknown>> & Pick<ProxyOptions<unknown>, "plugins" | "fetch">;

/** A proxy under test. */
export interface OpenedProxy {
  readonly proxy: GatewayProxy;
  /** Sends a request of a signed-in user. A body is sent as JSON, in a POST. */
  send(path: string, body?: object, init?: SendInit): Promise<Response>;
  close(): Promise<void>;
}

interface SendInit extends Pick<RequestInit, "method" | "signal"> {
  readonly user?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

let server: Promise<PostgresServer> | undefined;
let schemas = 0;

/** Returns the address of one Postgres for this file; it starts with the first call. Call `stopPostgres` in `afterAll`. */
export async function postgresURL(): Promise<string> {
  server ??= startPostgres();
  return (await server).url;
}

export async function stopPostgres(): Promise<void> {
  await (await server)?.close();
  server = undefined;
}

/** Where a proxy stores its data. Two proxies of one location share it, as two processes do. */
export interface Location {
  readonly kind: HostKind;
  /** A path or a schema. One process has a file at a time. */
  readonly name: string;
}

/** Creates an empty location: a file in memory, or a new schema. */
export function createLocation(kind: HostKind): Location {
  schemas += 1;
  return { kind, name: kind === "node" ? ":memory:" : `test_${process.pid}_${schemas}` };
}

/** Opens a proxy with these plugins. Its user is the text in `authorization`. */
export async function openProxy(location: Location, options: OpenOptions): Promise<OpenedProxy> {
  const host =
    location.kind === "node"
      ? nodeHost({ file: location.name })
      : postgresHost({ url: await postgresURL(), schema: location.name });
  const proxy = createProxy<unknown>({
    baseURL: "https://gateway.example",
    apiKey: () => GATEWAY_KEY,
    authenticate: (request) => {
      const id = request.headers.get("authorization");
      return id === null ? null : { id };
    },
    origins: [],
    models: ["delta-5.3", "beta3.0-video"],
    secret: () => "0123456789abcdef0123456789abcdef",
    host,
    ...options,
  });
  return {
    proxy,
    send(path, body, { user = "user-1", headers = {}, method, signal } = {}) {
      const request = new Request(`https://proxy.example${path}`, {
        method: method ?? (body ? "POST" : "GET"),
        headers: { authorization: user, ...(body && { "content-type": "application/json" }), ...headers },
        ...(body && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
      return proxy.fetch(request, {});
    },
    close: () => host.close(100),
  };
}

/** Opens two hosts of one database, as two processes have them. */
export function openPair(options: Parameters<typeof postgresHost>[0], part: StoredPart) {
  const hosts = [postgresHost(options), postgresHost(options)];
  const [host, other] = hosts.map((each) => each.open({ parts: [part], report: () => {} })({}));
  return {
    host: host as BoundHost,
    other: other as BoundHost,
    close: async () => void (await Promise.all(hosts.map((each) => each.close(100)))),
  };
}
