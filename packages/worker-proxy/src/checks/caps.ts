import type { Caps } from "../api/options.js";
import type { Shape } from "../api/routes.js";
import { Refusal } from "../refusals/refusal.js";
import { findField, isList } from "./fields.js";

/** Values for requests without a field whose default at the gateway could cost more than the cap. A lower cap replaces them. */
const DEFAULTS: Readonly<Record<string, number>> = {
  "sequential_image_generation_options.max_images": Infinity,
  // the spec's default, if it has one
  duration: 5,
  "parameters.duration": 5,
};

/**
 * Checks a body against its caps, and sets the capped fields that it lacks. A value is refused, and not lowered: a response
 * cut short would look like the model's doing.
 *
 * @throws {Refusal} 400 for a value beyond a cap
 */
export function applyCaps(body: object, fields: Shape, caps: Caps): void {
  for (const [path, cap] of Object.entries(caps)) {
    visit(body, path.split("."), fields);

    function visit(owner: unknown, [name = "", ...rest]: readonly string[], parent: Shape | undefined): void {
      if (Array.isArray(owner)) for (const entry of owner) visit(entry, [name, ...rest], parent);
      else if (typeof owner === "object" && owner !== null) {
        const values = owner as Record<string, unknown>;
        const field = findField(parent, name);
        if (rest.length === 0) {
          const value = checkCap(cap, values[name], path, isList(field));
          if (value !== undefined) values[name] = value;
          return;
        }
        const inside = values[name] ?? {};
        visit(inside, rest, field);
        // an object that the request lacks is added for a capped field in it
        if (!isList(field) && Object.keys(inside).length > 0) values[name] = inside;
      }
    }
  }
}

/** Checks the value of a field against its cap, and returns it; for a request without the field, the value to set. */
function checkCap(cap: Caps[string], value: unknown, path: string, isListed: boolean): unknown {
  if (typeof cap !== "number") {
    const requested = value ?? cap[0];
    if (!cap.includes(requested as string)) throw refuseCap(path, `one of ${cap.join(", ")}`);
    return requested;
  }
  const usual = DEFAULTS[path];
  const requested = value ?? (usual && Math.min(usual, cap));
  if (requested === undefined) return undefined;
  // elsewhere a gateway could take a list of one number for the number
  const isList =
    Array.isArray(requested) && (isListed || requested.every((entry) => typeof entry !== "number"));
  // one entry may come without its list
  const size = isList ? requested.length : isListed ? 1 : requested;
  if (!Number.isInteger(size) || (size as number) < (isList ? 0 : 1) || (size as number) > cap)
    throw refuseCap(path, isList ? `at most ${cap} long` : `a whole number from 1 to ${cap}`);
  return requested;
}

function refuseCap(param: string, what: string): Refusal {
  // a group of assets is not an amount: its use needs a permission
  const error = param === "GroupId" ? { status: 403 } : {};
  return new Refusal("limit_exceeded", { param, what, error });
}
