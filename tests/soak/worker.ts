import { resumableStreams } from "@sluice/durable";
import { cloudflareHost, type DurableObjectNamespace, durableObject } from "@sluice/durable/cloudflare";
import { chat, createProxy, videos } from "@sluice/worker-proxy";

interface Env {
  readonly UPSTREAM: string;
  readonly GATEWAY_API_KEY: string;
  readonly SLUICE: DurableObjectNamespace;
}

/** The page of the soak. Its port is known after the first request. */
let origin = "";

const proxy = createProxy<Env>({
  baseURL: (env) => env.UPSTREAM,
  apiKey: (env) => env.GATEWAY_API_KEY,
  secret: () => "a-secret-of-the-proxy-for-its-soak-0123456789",
  authenticate: ({ headers }) => {
    const [, id] = /^Bearer (\w+)$/.exec(headers.get("authorization") ?? "") ?? [];
    return id ? { id } : null;
  },
  origins: () => [origin],
  models: ["delta-5.3", "beta3.0-video"],
  routes: [chat, videos],
  limits: { maxStreamsPerUser: 100 },
  host: cloudflareHost((env) => env.SLUICE),
  // store a response for 20 seconds instead of ten minutes, so that a short soak shows leaked rows
  plugins: [resumableStreams<Env>({ idleTimeoutMs: 30_000, retentionMs: 20_000 })],
});

export class Sluice extends durableObject(proxy) {}

export default {
  fetch(request: Request, env: Env, context: { waitUntil(promise: Promise<unknown>): void }) {
    origin ||= new URL(request.url).origin;
    return proxy.fetch(request, env, context);
  },
};
