// Written by `scripts/spec-models.ts` from the schemas and the models of @sluice/core: not changed by hand.

/** The ids of the models of the spec. */
export type SpecModelId =
  | "alpha-v4.1-flash"
  | "gamma-chat-1-6-251015"
  | "delta-5.3"
  | "gamma-image-4-0-250828"
  | "gamma-image-5-0-260128"
  | "beta3.0-video"
  | "beta3.0-video-prime"
  | "gamma-video-1-5-pro-251215"
  | "gamma-video-1-0-pro-fast-251015"
  | "gamma-video-2.0"
  | "gamma-video-fast"
  | "gamma-asset";

/** The beginnings of the ids of models, by the routes that they belong to. */
export const families = {
  chat: /^(?:alpha|gamma-chat|delta)\b/,
  images: /^gamma-image\b/,
  videos: /^(?:beta3\.0-video|gamma-video)\b/,
  assets: /^gamma-asset\b/,
} as const;
