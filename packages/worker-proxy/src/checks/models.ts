import type { RouteName } from "../api/routes.js";

/** The beginnings of the ids of models, by the routes that they belong to. */
const FAMILIES: Partial<Record<RouteName, RegExp>> = {
  chat: /^(?:alpha|gamma-chat|delta)-/,
  images: /^gamma-image-/,
  videos: /^(?:beta3\.0|gamma)-video/,
  assets: /^gamma-asset/,
  epsilon: /^epsilon/,
};

/** Returns true if a model belongs to this route. A model of an unknown family fits any route. */
export function belongsTo(model: string, name: RouteName): boolean {
  return FAMILIES[name]?.test(model) || !Object.values(FAMILIES).some((ids) => ids?.test(model));
}
