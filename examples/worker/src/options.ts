import {
  chat,
  events,
  health,
  images,
  type ProxyOptions,
  type RateLimitBinding,
  videos,
  workersRateLimit,
} from "@sluice/worker-proxy";
import { authenticate } from "./sign-in.js";

/** Environment of the Worker: variables and bindings of wrangler.jsonc, and secrets. */
export interface Env {
  readonly GATEWAY_URL: string;
  /** The pages that may call from a browser, separated by spaces. */
  readonly ORIGINS: string;
  readonly GATEWAY_API_KEY: string;
  /** During a rotation: the previous key, used if the gateway refuses the new key. */
  readonly GATEWAY_API_KEY_OLD?: string;
  readonly PROXY_SECRET: string;
  /** While the secret is changed: the ids that it has marked stay good. */
  readonly PROXY_SECRET_OLD?: string;
  readonly JWT_SECRET: string;
  readonly RATE_LIMITER: RateLimitBinding;
  readonly POLL_LIMITER: RateLimitBinding;
}

/** The options of both Workers. A setting of `Env` that is missing closes the proxy; the log and `/health` say so. */
export const options = {
  baseURL: (env) => env.GATEWAY_URL,
  apiKey: ({ GATEWAY_API_KEY: key, GATEWAY_API_KEY_OLD: old }) => (old ? [key, old] : key),
  secret: ({ PROXY_SECRET: secret, PROXY_SECRET_OLD: old }) => (old ? [secret, old] : secret),
  authenticate,
  origins: (env) => env.ORIGINS.split(" ").filter((origin) => origin !== ""),
  // polls of videos have a separate limit, so that they don't use up the limit of chats
  rateLimit: workersRateLimit((env) => env.RATE_LIMITER, { polls: (env) => env.POLL_LIMITER }),
  routes: [chat, images, videos],
  // A request beyond a cap is refused with 400, and so is a field that the spec does not list for the model: `n`,
  // `fallbacks`, `extra_body`. `allowFields: ["n"]` lets one pass; cap it here then, `n: 4`. To change the list without
  // a deploy, read it from KV: `models: (env) => env.SETTINGS.get("models", "json")`, and list nothing here.
  models: {
    "alpha-v4.1-flash": { max_tokens: 8192 },
    "delta-5.3": { max_tokens: 8192 },
    "gamma-image-5-0-260128": { "sequential_image_generation_options.max_images": 4 },
    "gamma-video-2.0": { duration: 8, resolution: ["720p", "480p"] },
  },
  limits: {
    // a Worker has 128 MB of memory for all requests that it serves at a time
    maxBodyBytes: 8 * 1024 * 1024,
    maxDataURIBytes: 5 * 1024 * 1024,
    // chat streams of one user at a time
    maxStreamsPerUser: 4,
  },
  plugins: [
    health<Env>(),
    // `type` distinguishes requests from jobs, which continue without a request
    events<Env>((event) => console.log(JSON.stringify(event))),
    // Headers for an AI gateway in front of yours: its key, and metadata for its log. Never send a user's secret.
    // gatewayHeaders<Env>(({ env, user }) => ({
    //   "cf-aig-authorization": `Bearer ${env.AI_GATEWAY_TOKEN}`,
    //   "cf-aig-metadata": JSON.stringify({ user: user.id }),
    // })),
  ],
} satisfies ProxyOptions<Env>;
