import type { Caps } from "../api/options.js";
import type { RouteName } from "../api/routes.js";
import { Refusal } from "../refusals/refusal.js";
import { belongsTo, type FieldsOf } from "./field-table.js";
import { siftBody } from "./fields.js";

/** The models that the operator lists, each with its caps. */
export type ListedModels = ReadonlyMap<string, Caps>;

type Body = Record<string, unknown>;

/**
 * Returns the models that a body names, each of which is listed and belongs to the route.
 *
 * @throws {Refusal} 403 for another one
 */
export function admitModels(
  body: Body,
  route: RouteName,
  models: ListedModels,
  fieldsOf: FieldsOf,
): readonly [string, ...string[]] {
  // a name that is no text is listed nowhere
  const names = route === "epsilon" ? namesIn(body) : ([body["model"]] as [string]);
  if (names.every((name) => models.has(name) && belongsTo(name, route))) return names;
  // a body without a model may spell the field in another way, which the refusal names
  if (body["model"] === undefined) siftBody(body, fieldsOf(route, ""));
  throw new Refusal("model_not_allowed", { param: "model" });
}

/** The models that a body for epsilon names. */
function namesIn(body: Body): readonly [string, ...string[]] {
  // no table refuses another spelling of these
  const other = Object.keys(body).find(
    (key) => /^model[_-]?(?:name|id)?$/i.test(key) && !/^model(?:_name)?$/.test(key),
  );
  if (other !== undefined) throw new Refusal("model_misnamed", { param: other });
  const given = [body["model"], body["model_name"]].filter((named) => (named ?? undefined) !== undefined);
  const [first = "epsilon", ...others] = given as string[];
  return [first, ...others];
}

/** @throws {Refusal} 403 unless the operator has listed groups of assets: a cap alone says who may use which */
export function checkGroups(model: string, models: ListedModels): void {
  if (Object.hasOwn(models.get(model) ?? {}, "GroupId")) return;
  throw new Refusal("no_groups", { what: model, param: "GroupId", advice: model });
}
