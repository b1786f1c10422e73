import type { ProxyOptions } from "@sluice/worker-proxy";
import { assets, chat, images, videos } from "@sluice/worker-proxy";

/** Variables and secrets of all proxies of the studio. */
export interface ProxyEnv {
  readonly GATEWAY_URL: string;
  readonly GATEWAY_API_KEY: string;
  /** Origins that may call, separated by spaces. */
  readonly ORIGINS: string;
}

/** Options of the studio's proxies: of the Worker, and of the Service Worker. */
export const options = {
  baseURL: (env) => env.GATEWAY_URL,
  apiKey: (env) => env.GATEWAY_API_KEY,
  // anyone may call, because the gateway is the emulator: check users here before you deploy
  authenticate: "public",
  origins: (env) => env.ORIGINS.split(" "),
  routes: [chat, images, videos, assets],
  gateway: { assetLookup: "/gamma/asset/GetAsset" },
  // references may be files of the emulator, on this machine
  mediaURLs: "any",
  models: {
    "alpha-v4.1-flash": {},
    "gamma-chat-1-6-251015": {},
    "delta-5.3": {},
    "gamma-image-4-0-250828": {},
    "gamma-image-5-0-260128": {},
    "beta3.0-video": {},
    "beta3.0-video-prime": {},
    "gamma-video-1-5-pro-251215": {},
    "gamma-video-1-0-pro-fast-251015": {},
    "gamma-video-2.0": {},
    "gamma-video-fast": {},
    // the emulator accepts any group
    "gamma-asset": { GroupId: ["studio", "heroes"] },
  },
} satisfies ProxyOptions<ProxyEnv>;
