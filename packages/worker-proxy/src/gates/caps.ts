import { Refusal } from "../refusal.js";
import type { Field } from "./fields.js";
import { maxTokensOf } from "./models.js";

/**
 * What a model may be asked for, by the name of the field: `duration`, `parameters.duration`. A number is the most
 * that a number may be or that a list may hold; a list has all that is allowed, the first of which is what a request
 * gets that does not say.
 */
export type Caps = Readonly<Record<string, number | readonly (string | number | boolean)[]>>;

/** What a request gets that does not say, where its silence could cost more than the cap. */
const unsaid: Readonly<Record<string, (most: number) => number>> = {
  max_tokens: (most) => most,
  "sequential_image_generation_options.max_images": (most) => most,
  // 5 s is the spec's default, where it has one
  duration: (most) => Math.min(5, most),
  "parameters.duration": (most) => Math.min(5, most),
};

type Owner = Record<string, unknown>;

/**
 * Holds a body to the caps, and sets in it what it does not say. Nothing is lowered in silence: an answer cut short
 * would look like the model's doing.
 *
 * @throws {Refusal} 400 for what is beyond one
 */
export function holdCaps(
  body: Owner,
  table: Field,
  model: string,
  caps: Caps,
  maxTokens: number | undefined,
): void {
  for (const [path, cap] of Object.entries({ ...(maxTokens && { max_tokens: maxTokens }), ...caps })) {
    const most = path === "max_tokens" && typeof cap === "number" ? Math.min(cap, maxTokensOf(model)) : cap;
    holdIn(body, path.split("."), table, { path, cap: most });
  }
}

interface Held {
  readonly path: string;
  readonly cap: Caps[string];
}

function holdIn(
  owner: unknown,
  [name = "", ...rest]: readonly string[],
  table: Field | undefined,
  held: Held,
): void {
  if (Array.isArray(owner)) for (const entry of owner) holdIn(entry, [name, ...rest], table, held);
  else if (typeof owner === "object" && owner !== null) {
    const parent = owner as Owner;
    const field = table?.fields.get(name);
    if (rest.length === 0) return holdField(parent, name, field, held);
    const child = parent[name] ?? (field?.isList ? [] : {});
    holdIn(child, rest, field, held);
    if (Object.keys(child).length > 0) parent[name] = child;
  }
}

/** Checks one field, or sets it where its absence could cost more than the cap. */
function holdField(parent: Owner, name: string, field: Field | undefined, { path, cap }: Held): void {
  const value = parent[name] ?? undefined;
  if (typeof cap !== "number") {
    if (!cap.includes((value ?? cap[0]) as string)) throw beyond(path, `one of ${cap.join(", ")}`);
    parent[name] = value ?? cap[0];
    return;
  }
  const asked = value ?? unsaid[path]?.(cap);
  if (asked === undefined) return;
  // a gateway could take a list of one number for the number
  const isList = Array.isArray(asked) && !asked.some((entry) => typeof entry === "number");
  // one entry may come without its list
  const size = isList ? asked.length : field?.isList ? 1 : asked;
  if (!Number.isInteger(size) || (size as number) < (isList ? 0 : 1) || (size as number) > cap)
    throw beyond(path, isList ? `at most ${cap} long` : `a whole number from 1 to ${cap}`);
  parent[name] = asked;
}

function beyond(param: string, what: string): Refusal {
  // a group of assets is a place and not an amount: who may use it is a matter of permission
  const status = param === "GroupId" ? 403 : 400;
  return new Refusal(status, "limit_exceeded", `${param} must be ${what}`, { param });
}
