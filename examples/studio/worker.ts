import { createProxy } from "@sluice/worker-proxy";

interface Env {
  GATEWAY_URL: string;
  GATEWAY_API_KEY: string;
  /** The page's own address, and others that may call, separated by spaces. */
  ORIGINS: string;
}

/** Serves the studio's page (wrangler.jsonc, `assets`) and, for everything else, the gateway's chat. */
export default createProxy<Env>({
  baseURL: (env) => env.GATEWAY_URL,
  apiKey: (env) => env.GATEWAY_API_KEY,
  // the studio runs on one's own machine, against the emulator: put a real check here before it goes elsewhere
  authenticate: "public",
  origins: (env) => env.ORIGINS.split(" "),
  models: ["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"],
});
