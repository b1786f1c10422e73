import {
  admin,
  afterEnd,
  archiving,
  Budget,
  budget,
  deadLetters,
  type MediaBucket,
  type MediaStoreOptions,
  mediaIndex,
  mediaStore,
  mostTokens,
  type ObjectNamespace,
  once,
  onceObject,
  streamLog,
  streamLogObject,
  videoEvents,
  videoWatch,
  webhook,
} from "@sluice/durable";
import type { AnyEvent, Payable, ProxyOptions } from "@sluice/worker-proxy";
import { checkGateway, pollCache } from "@sluice/worker-proxy";
import { countEvents } from "./metrics.ts";
import { models } from "./models.ts";
import { rateLimit } from "./rate-limit.ts";
import { authenticate } from "./sign-in.ts";

/** Settings of the server: `.env.local` for development, `.env.production.local` for production. */
export interface Settings {
  /** The URL of the app for users: `https://chat.example.com`. */
  readonly APP_URL: string;
  /** Other pages that may call the server from a browser, separated by spaces. */
  readonly ORIGINS?: string | undefined;
  readonly GATEWAY_URL: string;
  readonly GATEWAY_API_KEY: string;
  /** The previous key during a key rotation. Used if the gateway refuses the new key. */
  readonly GATEWAY_API_KEY_OLD?: string | undefined;
  /** Signs the tokens of users: at least 32 random characters. */
  readonly SESSION_SECRET: string;
  /** Marks the ids of videos with their users: at least 32 random characters. */
  readonly PROXY_SECRET: string;
  /** Ids of the users who may operate the server, separated by spaces. */
  readonly OPERATORS?: string | undefined;
  /** The token of a `/metrics` scraper: at least 32 random characters. */
  readonly METRICS_TOKEN?: string | undefined;
  /** The URL in your app that is notified about each video, and the secret that signs the notifications. */
  readonly WEBHOOK_URL?: string | undefined;
  readonly WEBHOOK_SECRET?: string | undefined;
}

/** The settings, and the storage of each plugin. `main.ts` opens them. */
export interface Env extends Settings {
  readonly BUDGET: ObjectNamespace;
  readonly STREAM_LOG: ObjectNamespace;
  readonly ONCE: ObjectNamespace;
  readonly VIDEO_WATCH: ObjectNamespace;
  readonly MEDIA_INDEX: ObjectNamespace;
  /** The files of users, and copies of videos and images. */
  readonly MEDIA: MediaBucket;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Models besides the chat models. The limits of their requests limit their price. */
const media = {
  "gamma-image-5-0-260128": { "sequential_image_generation_options.max_images": 4 },
  "gamma-video-2.0": { duration: 8, resolution: ["720p", "480p"] },
};

const countEvent = countEvents(Object.keys({ ...models, ...media }));

/** Writes one line for each request and each job: no text of a chat, no key, no token. */
function onEvent(event: AnyEvent): void {
  console.log(JSON.stringify(event));
  countEvent(event);
}

/** Tokens that a user may spend per day. Images and videos have a price in tokens. */
const meter = budget<Env>({
  namespace: (env) => env.BUDGET,
  limits: { user: 500_000, all: 50_000_000 },
  windowMs: DAY_MS,
  reserveFor: priceOf,
});

/** The maximum cost of a request. */
function priceOf(payable: Payable<Env>): number {
  if (payable.route === "videos") return 100_000;
  if (payable.route === "images") return 40_000;
  return mostTokens(payable);
}

/** The connection to the gateway, for the proxy and for the plugins that call it directly. */
const gateway = {
  baseURL: (env) => env.GATEWAY_URL,
  apiKey: ({ GATEWAY_API_KEY: key, GATEWAY_API_KEY_OLD: old }) => (old ? [key, old] : key),
  limits: { maxBodyBytes: 8 * 1024 * 1024, maxDataURIBytes: 5 * 1024 * 1024, maxStreamsPerUser: 4 },
} satisfies Partial<ProxyOptions<Env>>;

// streams that survive a lost connection, creates that are paid once, videos that are watched without a page
const answers = streamLog<Env>((env) => env.STREAM_LOG);
const creates = once<Env>((env) => env.ONCE);
const videos = videoEvents<Env>((env) => env.VIDEO_WATCH, { startOn: "create", onEvent });
/** Files of users, and copies of videos and images. */
const filesKept: MediaStoreOptions<Env> = {
  bucket: (env) => env.MEDIA,
  index: (env) => env.MEDIA_INDEX,
  secret: (env) => env.PROXY_SECRET,
  ...(process.env.APP_URL && { publicURL: `${process.env.APP_URL}/api` }),
  // copies survive the gateway's links; in development they come from the emulator on this machine
  archive:
    process.env.NODE_ENV === "development" ? { hosts: (env) => [new URL(env.GATEWAY_URL).host] } : true,
  onEvent,
};
const files = mediaStore<Env>(filesKept);
/** Notifies your app of each video, once `WEBHOOK_URL` is set. */
const hooks = process.env.WEBHOOK_URL
  ? [webhook<Env>({ url: (env) => env.WEBHOOK_URL, secret: (env) => env.WEBHOOK_SECRET })]
  : [];

/** The objects with a storage. `main.ts` opens them. Their rows belong to their name, so don't change it. */
export const objects = {
  BUDGET: Budget,
  STREAM_LOG: streamLogObject<Env>({ ...gateway, meter, namespace: (env) => env.STREAM_LOG, onEvent }),
  ONCE: onceObject<Env>({ ...gateway, meter, namespace: (env) => env.ONCE, onEvent }),
  VIDEO_WATCH: videoWatch<Env>({
    ...gateway,
    namespace: (env) => env.VIDEO_WATCH,
    onEnd: afterEnd([archiving(files), ...hooks]),
    onEvent,
  }),
  MEDIA_INDEX: mediaIndex<Env>(filesKept),
};

/** The routes of operators, `npm run admin`. Closed until `OPERATORS` contains an id. */
const operations = admin<Env>({
  operators: ({ id }, { env }) => (env.OPERATORS ?? "").split(" ").includes(id),
  parts: [meter, answers, creates, videos, files, deadLetters<Env>((env) => env.VIDEO_WATCH)],
});

/**
 * Adds the gateway's key to the requests of signed-in users. Closed while a setting is missing: see `npm run
 * check:deploy`.
 */
export const proxy = files.proxy({
  ...gateway,
  basePath: "/api",
  authenticate,
  secret: (env) => env.PROXY_SECRET,
  origins: ({ APP_URL, ORIGINS = "" }) => [APP_URL, ...ORIGINS.split(" ")].filter((page) => page !== ""),
  models: { ...models, ...media },
  rateLimit,
  routes: ["chat", "images", "videos"],
  plugins: [pollCache(), meter, creates, answers, videos, ...hooks, operations],
  // `/api/health` also checks that the gateway accepts the key
  health: { checkGateway },
  onEvent,
});
