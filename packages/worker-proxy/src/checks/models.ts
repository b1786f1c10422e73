import type { RouteName } from "../api/routes.js";
import { families } from "../api/spec-model-ids.js";

const FAMILIES: Partial<Record<RouteName, RegExp>> = { ...families, epsilon: /^epsilon/ };

/** Returns true if a model belongs to this route. A model of an unknown family fits any route. */
export function belongsTo(model: string, name: RouteName): boolean {
  return FAMILIES[name]?.test(model) || !Object.values(FAMILIES).some((ids) => ids?.test(model));
}
