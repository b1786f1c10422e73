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

/** Settings of the server: `.env.local` has those of development, `.env.production.local` those of production. */
export interface Settings {
  /** The address under which users reach the app: `https://chat.example.com`. */
  readonly APP_URL: string;
  /** Further pages that may call the server from a browser, separated by spaces. */
  readonly ORIGINS?: string | undefined;
  readonly GATEWAY_URL: string;
  readonly GATEWAY_API_KEY: string;
  /** The key before, while it is changed: used where the gateway refuses the new one. */
  readonly GATEWAY_API_KEY_OLD?: string | undefined;
  /** Signs the tokens of users: at least 32 random characters. */
  readonly SESSION_SECRET: string;
  /** Marks the ids of videos with their users: at least 32 random characters. */
  readonly PROXY_SECRET: string;
  /** Ids of the users who may operate the server, separated by spaces. */
  readonly OPERATORS?: string | undefined;
  /** The token of a scraper of `/metrics`: at least 32 random characters. */
  readonly METRICS_TOKEN?: string | undefined;
  /** The address of your app that hears of each video, and the secret that signs for it. */
  readonly WEBHOOK_URL?: string | undefined;
  readonly WEBHOOK_SECRET?: string | undefined;
}

/** The settings, and where each part keeps what it knows: `main.ts` opens them. */
export interface Env extends Settings {
  readonly BUDGET: ObjectNamespace;
  readonly STREAM_LOG: ObjectNamespace;
  readonly ONCE: ObjectNamespace;
  readonly VIDEO_WATCH: ObjectNamespace;
  readonly MEDIA_INDEX: ObjectNamespace;
  /** The files of users, and copies of films and images. */
  readonly MEDIA: MediaBucket;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Models beside those of the chat. What they may be asked for bounds their price. */
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

/** Tokens that may be spent in a day; what is no chat has a price in them. */
const meter = budget<Env>({
  namespace: (env) => env.BUDGET,
  limits: { user: 500_000, all: 50_000_000 },
  windowMs: DAY_MS,
  reserveFor: priceOf,
});

/** The most that a request can cost. */
function priceOf(payable: Payable<Env>): number {
  if (payable.route === "videos") return 100_000;
  if (payable.route === "images") return 40_000;
  return mostTokens(payable);
}

/** The way to the gateway, for the proxy and for the parts that ask it themselves. */
const gateway = {
  baseURL: (env) => env.GATEWAY_URL,
  apiKey: ({ GATEWAY_API_KEY: key, GATEWAY_API_KEY_OLD: old }) => (old ? [key, old] : key),
  limits: { maxBodyBytes: 8 * 1024 * 1024, maxDataURIBytes: 5 * 1024 * 1024, maxStreamsPerUser: 4 },
} satisfies Partial<ProxyOptions<Env>>;

// answers that go on after a lost connection, creates that are paid once, videos that are watched without a page
const answers = streamLog<Env>((env) => env.STREAM_LOG);
const creates = once<Env>((env) => env.ONCE);
const videos = videoEvents<Env>((env) => env.VIDEO_WATCH, { startOn: "create", onEvent });
/** Users' files, and copies of films and images. */
const filesKept: MediaStoreOptions<Env> = {
  bucket: (env) => env.MEDIA,
  index: (env) => env.MEDIA_INDEX,
  secret: (env) => env.PROXY_SECRET,
  ...(process.env.APP_URL && { publicURL: `${process.env.APP_URL}/api` }),
  // copies outlive the gateway's links. In development they come from the emulator on this machine
  archive:
    process.env.NODE_ENV === "development" ? { hosts: (env) => [new URL(env.GATEWAY_URL).host] } : true,
  onEvent,
};
const files = mediaStore<Env>(filesKept);
/** Tells your app of each video, once `WEBHOOK_URL` is set. */
const hooks = process.env.WEBHOOK_URL
  ? [webhook<Env>({ url: (env) => env.WEBHOOK_URL, secret: (env) => env.WEBHOOK_SECRET })]
  : [];

/** The objects that keep something: `main.ts` opens them. A name keeps its rows; don't change it. */
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

/** The paths of operators, `npm run admin`: closed until `OPERATORS` names somebody. */
const operations = admin<Env>({
  operators: ({ id }, { env }) => (env.OPERATORS ?? "").split(" ").includes(id),
  parts: [meter, answers, creates, videos, files, deadLetters<Env>((env) => env.VIDEO_WATCH)],
});

/** Adds the gateway's key to the requests of signed-in users. A setting that is missing closes it: `npm run check:deploy`. */
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
  // `/api/health` shows that the gateway takes the key, too
  health: { checkGateway },
  onEvent,
});
