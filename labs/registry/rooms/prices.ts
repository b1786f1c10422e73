import { definePrices } from "@sluice/prices";

/** Prices of a million tokens, of an image and of a second. These are examples: write those of your contract. */
export const prices = definePrices({
  currency: "USD",
  models: {
    "alpha-v4.1-flash": { input: 0.3, cachedInput: 0.03, output: 1.2 },
    "gamma-image-5-0-260128": { image: 0.04 },
    "beta3.0-video": { second: { "480p": 0.02, "720p": 0.05, "1080p": 0.1, "4k": 0.4 } },
  },
});
