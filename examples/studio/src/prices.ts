import { definePrices } from "@sluice/core/prices";

/*
 * Prices that nobody asks: the studio runs on the emulator, which is free. They show where an app puts its own. Each
 * sentence about them says that they are imaginary.
 */

const video = { "480p": 20, "720p": 50, "1080p": 100, "4k": 400 };

/** The imaginary prices of the studio. */
export const prices = definePrices({
  currency: "coins",
  models: {
    "alpha-v4.1-flash": { input: 300, cachedInput: 30, output: 900 },
    "gamma-chat-1-6-251015": { input: 200, output: 600 },
    "delta-5.3": { input: 600, output: 2400 },
    "gamma-image-4-0-250828": { image: 20 },
    "gamma-image-5-0-260128": { image: 30 },
    "beta3.0-video": { second: video },
    "beta3.0-video-prime": { second: { "480p": 40, "720p": 100, "1080p": 200 } },
    "gamma-video-1-5-pro-251215": {
      second: { "480p": 20, "720p": 40, "1080p": 80 },
      secondWithAudio: { "480p": 30, "720p": 60, "1080p": 120 },
    },
    "gamma-video-1-0-pro-fast-251015": { second: { "480p": 10, "720p": 20, "1080p": 40 } },
    "gamma-video-2.0": { second: video },
    "gamma-video-fast": { second: { "480p": 10, "720p": 30 } },
    "gamma-asset": { asset: 1 },
  },
});
