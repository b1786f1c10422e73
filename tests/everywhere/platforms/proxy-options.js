// @ts-check

import { assets, chat, images, videos } from "@sluice/worker-proxy";
/**
 * Options of the proxy, open for all that the behaviours do. `env` has `GATEWAY_URL` and `PAGE_ORIGIN`.
 *
 * @type {import("@sluice/worker-proxy").ProxyOptions<{ GATEWAY_URL: string; PAGE_ORIGIN: string }>}
 */
export const options = {
  baseURL: (env) => env.GATEWAY_URL,
  apiKey: () => "sk-everywhere",
  authenticate: "public",
  origins: (env) => [env.PAGE_ORIGIN],
  models: {
    "alpha-v4.1-flash": {},
    "delta-5.3": {},
    "gamma-image-4-0-250828": {},
    "beta3.0-video": {},
    "gamma-asset": { GroupId: ["group-1"] },
  },
  routes: [chat, images, videos, assets],
  gateway: { assetLookup: "/gamma/asset/GetAsset" },
};
