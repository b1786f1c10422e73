import { chat, createProxy, events, health } from "@sluice/worker-proxy";
import { models } from "./models.ts";
import { rateLimit } from "./rate-limit.ts";
import { authenticate } from "./sign-in.ts";

/** Settings of the server: `.env.local` for development, `.env.production.local` for production. */
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
}

/**
 * Adds the gateway's key to the requests of signed-in users. Closed while a setting is missing: see `npm run
 * check:deploy`.
 */
export const proxy = createProxy<Env>({
  basePath: "/api",
  baseURL: (env) => env.GATEWAY_URL,
  apiKey: ({ GATEWAY_API_KEY: key, GATEWAY_API_KEY_OLD: old }) => (old ? [key, old] : key),
  authenticate,
  origins: ({ APP_URL, ORIGINS = "" }) => [APP_URL, ...ORIGINS.split(" ")].filter((page) => page !== ""),
  routes: [chat],
  models,
  rateLimit,
  limits: { maxBodyBytes: 8 * 1024 * 1024, maxDataURIBytes: 5 * 1024 * 1024, maxStreamsPerUser: 4 },
  plugins: [
    // `/api/health` also checks that the gateway accepts the key
    health<Env>({ checkGateway: true }),
    // one line for each request: no text of a chat, no key, no token
    events<Env>((event) => console.log(JSON.stringify(event))),
  ],
});
