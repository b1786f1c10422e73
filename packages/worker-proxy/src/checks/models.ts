import type { Body, ListedModels, RouteGroup, RouteName } from "../api/routes.js";
import { Refusal } from "../refusals/refusal.js";
import { checkFields, type FindRules } from "./fields.js";

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

/**
 * Returns the models that a body names. All are listed, and belong to the route.
 *
 * @throws {Refusal} 403 for another one
 */
export function admitModels(
  body: Body,
  group: RouteGroup,
  models: ListedModels,
  findRules: FindRules,
): readonly [string, ...string[]] {
  // a name that is not a string is not listed
  const names = group.readModels?.(body) ?? ([body["model"]] as [string]);
  if (names.every((name) => models.has(name) && belongsTo(name, group.name))) return names;
  // a body without a model may spell the field in another way, which the refusal names
  if (body["model"] === undefined) checkFields(body, findRules(group, "").fields);
  throw new Refusal("model_not_allowed", { param: "model" });
}
