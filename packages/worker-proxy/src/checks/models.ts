import type { RouteName } from "../api/routes.js";
import { families } from "../api/spec-model-ids.js";

const all = Object.entries({ ...families, epsilon: /^epsilon/ });

/** Returns true if a model belongs to this route. A model of an unknown family fits any route. */
export function belongsTo(model: string, name: RouteName): boolean {
  const family = all.find(([, ids]) => ids.test(model))?.[0];
  return !family || family === name;
}
