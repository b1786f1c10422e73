import { type ObjectNamespace, streamLog, streamLogObject } from "@sluice/durable";
import { createProxy, type GatewayProxy } from "@sluice/worker-proxy";

interface Env {
  readonly UPSTREAM: string;
  readonly GATEWAY_API_KEY: string;
  readonly STREAM_LOG: ObjectNamespace;
}

const gateway = {
  baseURL: (env: Env) => env.UPSTREAM,
  apiKey: (env: Env) => env.GATEWAY_API_KEY,
};

/** An answer is kept for 20 seconds in place of ten minutes, so that a soak of minutes shows what stays behind. */
export const StreamLog = streamLogObject<Env>({
  ...gateway,
  namespace: (env) => env.STREAM_LOG,
  limits: { maxStreamsPerUser: 100 },
  orphanMs: 30_000,
  keepMs: 20_000,
});

let proxy: GatewayProxy<Env> | undefined;

export default {
  fetch(request: Request, env: Env, context: { waitUntil(promise: Promise<unknown>): void }) {
    proxy ??= openProxy(new URL(request.url).origin);
    return proxy.fetch(request, env, context);
  },
};

/** The proxy for pages of its own origin: the port is known at the first request. */
function openProxy(origin: string): GatewayProxy<Env> {
  return createProxy<Env>({
    ...gateway,
    secret: () => "a-secret-of-the-proxy-for-its-soak-0123456789",
    authenticate: ({ headers }) => {
      const [, id] = /^Bearer (\w+)$/.exec(headers.get("authorization") ?? "") ?? [];
      return id ? { id } : null;
    },
    origins: [origin],
    models: ["delta-5.3", "beta3.0-video"],
    routes: ["chat", "videos"],
    limits: { maxStreamsPerUser: 100 },
    plugins: [streamLog<Env>((env) => env.STREAM_LOG)],
  });
}
