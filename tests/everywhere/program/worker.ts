import {
  afterEnd,
  budget,
  type MediaBucket,
  type MediaStoreOptions,
  mediaIndex,
  mediaStore,
  type ObjectNamespace,
  streamLog,
  streamLogObject,
  videoEvents,
  videoWatch,
  webhook,
} from "@sluice/durable";
import { createProxy, type ProxyEvent, type ProxyOptions } from "@sluice/worker-proxy";
import { jwt } from "@sluice/worker-proxy/auth";

/* An operator's use of the proxy, with every entry. */

export { Budget } from "@sluice/durable";

interface Env {
  readonly GATEWAY_API_KEY: string;
  readonly SECRET: string;
  readonly BUDGET: ObjectNamespace;
  readonly STREAMS: ObjectNamespace;
  readonly VIDEO_WATCH: ObjectNamespace;
  readonly FILES: MediaBucket;
  readonly FILE_INDEX: ObjectNamespace;
}

const gateway = { baseURL: "https://gateway.example.com", apiKey: (env: Env) => env.GATEWAY_API_KEY };
const hook = webhook<Env>({ url: () => "https://app.example.com/hook", secret: (env) => env.SECRET });

const media: MediaStoreOptions<Env> = {
  bucket: (env) => env.FILES,
  index: (env) => env.FILE_INDEX,
  secret: (env) => env.SECRET,
};

export const MediaIndex = mediaIndex<Env>(media);
export const VideoWatch = videoWatch<Env>({ ...gateway, onEnd: afterEnd([hook]) });
export const StreamLog = streamLogObject<Env>({ ...gateway, namespace: (env) => env.STREAMS });

const options: ProxyOptions<Env> = {
  ...gateway,
  authenticate: jwt({
    jwks: "https://login.example.com/keys",
    issuer: "https://login.example.com",
    audience: "app",
  }),
  origins: ["https://app.example.com"],
  models: { "delta-5.3": { max_tokens: 8192 }, "beta3.0-video": {} },
  routes: ["chat", "videos"],
  secret: (env) => env.SECRET,
  plugins: [
    budget<Env>({
      namespace: (env) => env.BUDGET,
      limits: { user: 200_000 },
      windowMs: 86_400_000,
      reserveFor: ({ body }) => Number(body?.["max_tokens"]) || 8192,
    }),
    streamLog((env) => env.STREAMS),
    videoEvents((env) => env.VIDEO_WATCH, { startOn: "create" }),
  ],
  onEvent: (event: ProxyEvent) => console.log(event.status),
};

export const proxy = createProxy<Env>(options);

export default mediaStore<Env>(media).proxy(options);
