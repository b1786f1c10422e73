import { Refusal } from "../refusal.js";

/* Loaded for requests to epsilon, whose fields no table lists. */

/** The models that a body names; what is no text is not listed anywhere. */
export function namesIn(body: Readonly<Record<string, unknown>>): readonly [string, ...string[]] {
  // no table refuses another spelling of these
  const other = Object.keys(body).find(
    (key) => /^model[_-]?(?:name|id)?$/i.test(key) && !/^model(?:_name)?$/.test(key),
  );
  if (other !== undefined) throw new Refusal("model_misnamed", { param: other });
  const given = [body["model"], body["model_name"]].filter((named) => (named ?? undefined) !== undefined);
  const [first = "epsilon", ...others] = given as string[];
  return [first, ...others];
}
