import { definePrices } from "@sluice/prices";

const second = { "480p": 20, "720p": 50, "1080p": 100, "4k": 400 };

/** Play money: an app writes the prices of its contract here. */
export const prices = definePrices({
  currency: "coins",
  models: {
    "alpha-v4.1-flash": { input: 300, cachedInput: 30, output: 900 },
    "gamma-chat-1-6-251015": { input: 200, output: 600 },
    "delta-5.3": { input: 600, output: 2400 },
    "gamma-image-4-0-250828": { image: 20 },
    "gamma-image-5-0-260128": { image: 30 },
    "beta3.0-video": { second },
    "beta3.0-video-prime": { second },
    "gamma-video-1-5-pro-251215": { second },
    "gamma-video-1-0-pro-fast-251015": { second },
    "gamma-video-2.0": { second },
    "gamma-video-fast": { second },
    "gamma-asset": { asset: 1 },
  },
});
