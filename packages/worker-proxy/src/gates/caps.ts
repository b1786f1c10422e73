import { Refusal } from "../refusal.js";
import { maxTokensOf } from "./path.js";

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

/**
 * The body within the caps. Nothing is lowered in silence: an answer cut short would look like the model's doing.
 *
 * @throws {Refusal} 400 for what is beyond one
 */
export function capped(
  body: Record<string, unknown>,
  model: string,
  caps: Caps,
  maxTokens: number | undefined,
): Record<string, unknown> {
  const held = { ...body };
  for (const [field, cap] of Object.entries({ ...(maxTokens && { max_tokens: maxTokens }), ...caps })) {
    const [first = "", second] = field.split(".");
    if (isElsewhere(body, first, second, caps)) throw beyond(field, "given in its own place");
    if (second === undefined) hold(held, first, field, cap, model);
    else {
      const parent = held[first] === undefined ? {} : openParent(held[first], first);
      hold(parent, second, field, cap, model);
      if (Object.keys(parent).length > 0) held[first] = parent;
    }
  }
  return held;
}

/** Whether a field is where it is not held, and where a gateway of many models may look too. */
function isElsewhere(
  body: Record<string, unknown>,
  first: string,
  second: string | undefined,
  caps: Caps,
): boolean {
  const name = second ?? first;
  if (second !== undefined && Object.hasOwn(body, name) && !Object.hasOwn(caps, name)) return true;
  // several of the spec's own objects have one
  if (name === "type") return false;
  return Object.entries(body).some(
    ([parent, value]) =>
      typeof value === "object" &&
      value !== null &&
      !Object.hasOwn(caps, `${parent}.${name}`) &&
      Object.keys(value).some((key) => key.toLowerCase() === name.toLowerCase()),
  );
}

function openParent(given: unknown, param: string): Record<string, unknown> {
  const parent: Record<string, unknown> = { ...(given as object) };
  // another spelling could mean the same to the gateway
  if (
    typeof given !== "object" ||
    Array.isArray(given) ||
    Object.keys(parent).some((key) => /[^a-z0-9_]/.test(key))
  )
    throw beyond(param, "an object with the gateway's own names");
  return parent;
}

/** Checks one field, or sets it where its absence could cost more than the cap. */
function hold(
  parent: Record<string, unknown>,
  name: string,
  field: string,
  cap: Caps[string],
  model: string,
): void {
  const value = parent[name] ?? undefined;
  // the newer name of the same field
  if (field === "max_tokens" && "max_completion_tokens" in parent)
    throw beyond(field, "given under this name");
  if (typeof cap !== "number") {
    if (!cap.includes((value ?? cap[0]) as string)) throw beyond(field, `one of ${cap.join(", ")}`);
    parent[name] = value ?? cap[0];
    return;
  }
  const most = field === "max_tokens" ? Math.min(cap, maxTokensOf(model)) : cap;
  const isNumber = Object.hasOwn(unsaid, field);
  const asked = value ?? (isNumber ? unsaid[field]?.(most) : undefined);
  if (asked === undefined) return;
  // a gateway could take a list of one number for the number
  const isList = Array.isArray(asked) && !isNumber && !asked.some((entry) => typeof entry === "number");
  const size = isList ? asked.length : asked;
  const least = isList ? 0 : 1;
  if (!Number.isInteger(size) || (size as number) < least || (size as number) > most)
    throw beyond(field, `at most ${most}`);
  parent[name] = asked;
}

function beyond(param: string, what: string): Refusal {
  // a group of assets is a place and not an amount: who may use it is a matter of permission
  const status = param === "GroupId" ? 403 : 400;
  return new Refusal(status, "limit_exceeded", `${param} must be ${what}`, { param });
}
