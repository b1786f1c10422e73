import { createProxy, type GatewayProxy } from "@sluice/worker-proxy";
import { type Env, isLookup, lookUp } from "./look-up.ts";

const proxy = createProxy<Env>({
  baseURL: (env) => env.GATEWAY_URL,
  apiKey: (env) => env.GATEWAY_API_KEY,
  // the studio runs on one's own machine, against the emulator: put a real check here before it goes elsewhere
  authenticate: "public",
  origins: (env) => env.ORIGINS.split(" "),
  routes: ["chat", "images", "videos", "assets"],
  models: [
    "alpha-v4.1-flash",
    "gamma-chat-1-6-251015",
    "delta-5.3",
    "gamma-image-4-0-250828",
    "gamma-image-5-0-260128",
    "beta3.0-video",
    "beta3.0-video-prime",
    "gamma-video-1-5-pro-251215",
    "gamma-video-1-0-pro-fast-251015",
    "gamma-video-2.0",
    "gamma-video-fast",
    "gamma-asset",
  ],
});

/** Serves the studio's page (wrangler.jsonc, `assets`) and, for everything else, the gateway. */
const studio: GatewayProxy<Env> = {
  fetch: (request, env, context) =>
    env && isLookup(request) ? lookUp(request, env) : proxy.fetch(request, env, context),
};
export default studio;
