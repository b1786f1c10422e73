import {
  admin,
  budget,
  fileStore,
  idempotency,
  maxTokens,
  resumableStreams,
  videoWatch,
  webhook,
} from "@sluice/durable";
import { chat, createProxy, events, health, images, type ProxyEvent, videos } from "@sluice/worker-proxy";
import type { Payable } from "@sluice/worker-proxy/plugin";
import { countEvents } from "./metrics.ts";
import { models } from "./models.ts";
import { rateLimit } from "./rate-limit.ts";
import { authenticate } from "./sign-in.ts";
import { bucket, host } from "./storage.ts";

/** Env of the server: `.env.local` for development, `.env.production.local` for production. */
export interface Env {
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

const DAY_MS = 24 * 60 * 60 * 1000;

/** Models besides the chat models. The limits of their requests limit their price. */
const media = {
  "gamma-image-5-0-260128": { "sequential_image_generation_options.max_images": 4 },
  "gamma-video-2.0": { duration: 8, resolution: ["720p", "480p"] },
};

const countEvent = countEvents(Object.keys({ ...models, ...media }));
const reserveTokens = maxTokens();

/** Writes one line for each request and each job: no text of a chat, no key, no token. */
function onEvent(event: ProxyEvent): void {
  console.log(JSON.stringify({ time: new Date().toISOString(), ...event }));
  countEvent(event);
}

/** The maximum cost of a request, in tokens. Images and videos have a price in tokens. */
function reserve(payable: Payable<Env>): number {
  if (payable.route === "videos") return 100_000;
  if (payable.route === "images") return 40_000;
  return reserveTokens(payable);
}

const { APP_URL, WEBHOOK_URL, NODE_ENV } = process.env;

/**
 * Adds the gateway's key to the requests of signed-in users. It is closed while a setting is missing: see `npm run
 * check:deploy`.
 */
export const proxy = createProxy<Env>({
  baseURL: (env) => env.GATEWAY_URL,
  apiKey: ({ GATEWAY_API_KEY: key, GATEWAY_API_KEY_OLD: old }) => (old ? [key, old] : key),
  limits: {
    maxBodyBytes: 8 * 1024 * 1024,
    // takes up to four times as much memory
    maxOpenBodyBytes: 64 * 1024 * 1024,
    maxDataURIBytes: 5 * 1024 * 1024,
    maxStreamsPerUser: 4,
  },
  basePath: "/api",
  authenticate,
  secret: (env) => env.PROXY_SECRET,
  origins: ({ APP_URL, ORIGINS = "" }) => [APP_URL, ...ORIGINS.split(" ")].filter((page) => page !== ""),
  models: { ...models, ...media },
  rateLimit,
  routes: [chat, images, videos],
  host,
  plugins: [
    // `/api/health` also checks that the gateway accepts the key
    health<Env>({ checkGateway: true }),
    events<Env>(onEvent),
    // tokens that a user may spend per day
    budget<Env>({ limits: { user: 500_000, all: 50_000_000 }, windowMs: DAY_MS, reserve }),
    // an image or a video that is requested twice is paid once
    idempotency<Env>(),
    // a response goes on after a lost connection, a reload, or on another device
    resumableStreams<Env>(),
    // a video is watched until its end, and your app is notified of it
    videoWatch<Env>({
      onEnd: WEBHOOK_URL
        ? [webhook<Env>({ url: (env) => env.WEBHOOK_URL, secret: (env) => env.WEBHOOK_SECRET })]
        : [],
    }),
    fileStore<Env>({
      bucket: () => bucket,
      secret: (env) => env.PROXY_SECRET,
      ...(APP_URL && { publicURL: `${APP_URL}/api` }),
      // copies outlive the gateway's links; in development they come from the emulator on this machine
      archive: NODE_ENV === "development" ? { hosts: (env) => [new URL(env.GATEWAY_URL).host] } : true,
    }),
    // the routes of operators, `npm run admin`: closed until `OPERATORS` contains an id
    admin<Env>({
      isOperator: ({ id }, { env }) => (env.OPERATORS ?? "").split(" ").includes(id),
    }),
  ],
});
