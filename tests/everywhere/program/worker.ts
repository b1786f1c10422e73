import { type Bucket, budget, fileStore, resumableStreams, videoWatch, webhook } from "@sluice/durable";
import { cloudflareHost, type DurableObjectNamespace, durableObject } from "@sluice/durable/cloudflare";
import { chat, createProxy, type ProxyEvent, videos } from "@sluice/worker-proxy";
import { jwt } from "@sluice/worker-proxy/auth";
import { definePlugin } from "@sluice/worker-proxy/plugin";

/* An operator's use of the proxy, with every entry. */

interface Env {
  readonly GATEWAY_API_KEY: string;
  readonly SECRET: string;
  readonly SLUICE: DurableObjectNamespace;
  readonly FILES: Bucket;
}

const proxy = createProxy<Env>({
  baseURL: "https://gateway.example.com",
  apiKey: (env) => env.GATEWAY_API_KEY,
  authenticate: jwt({
    jwks: "https://login.example.com/keys",
    issuer: "https://login.example.com",
    audience: "app",
  }),
  origins: ["https://app.example.com"],
  models: { "delta-5.3": { max_tokens: 8192 }, "beta3.0-video": {} },
  routes: [chat, videos],
  secret: (env) => env.SECRET,
  host: cloudflareHost((env) => env.SLUICE),
  plugins: [
    budget<Env>({
      limits: { user: 200_000 },
      windowMs: 86_400_000,
      reserve: ({ body }) => Number(body?.["max_tokens"]) || 8192,
    }),
    resumableStreams<Env>(),
    videoWatch<Env>({
      onEnd: [webhook<Env>({ url: () => "https://app.example.com/hook", secret: (env) => env.SECRET })],
    }),
    fileStore<Env>({ bucket: (env) => env.FILES, secret: (env) => env.SECRET }),
    definePlugin({ onEvent: (event: ProxyEvent) => console.log(event.type, event.outcome) }),
  ],
});

export class Sluice extends durableObject(proxy) {}

export default proxy;
