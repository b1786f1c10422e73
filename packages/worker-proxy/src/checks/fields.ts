import type { Caps } from "../api/options.js";
import { Refusal } from "../refusals/refusal.js";
import { type Field, isDropped, isFree, maxTokensOf } from "./field-table.js";

/** More than any request has. Each is parsed, and each asset's signature is checked. */
const MAX_ADDRESSES = 1000;

/** An object of a body, or a list. */
type Owner = Record<string | number, unknown>;

/** The place in a body of the address of a file or of an asset. */
export interface Address {
  readonly owner: Owner;
  readonly name: string | number;
  readonly path: string;
  /** True where the address may be that of an asset. */
  readonly takesAssets: boolean;
}

/**
 * Checks a body against its table in one walk, and takes out of it what is to be left out. The body is changed in
 * place; `readBody` has bounded its depth.
 *
 * @returns the paths of the fields that were left out, and the addresses that are still to be checked
 * @throws {Refusal} 400 for a field that is not listed
 */
export function siftBody(
  body: Owner,
  table: Field,
): { dropped: readonly string[]; addresses: readonly Address[] } {
  const dropped = new Set<string>();
  const addresses: Address[] = [];
  visitFields(body, table);
  return { dropped: [...dropped], addresses };

  function visitFields(owner: Owner, parent: Field): void {
    for (const name of Object.keys(owner)) {
      if (isFree(parent) && name === "__proto__") throw new Refusal("proto_field");
      const field = isFree(parent) ? parent : parent.fields.get(name);
      if (field && !isDropped(field)) visit(owner, name, field);
      else {
        if (owner[name] !== null) {
          if (!field || (field.mark === "!" && owner[name] !== 1)) throw notAllowed(parent.path, name);
          dropped.add(field.path);
        }
        delete owner[name];
      }
    }
  }

  /** @param name a number for an entry of a list, which is no list itself */
  function visit(owner: Owner, name: string | number, field: Field): void {
    const value = owner[name];
    const { mark, path } = field;
    if (Array.isArray(value) && !isFree(field)) {
      if (!field.isList || typeof name === "number") throw new Refusal("list_not_allowed", { param: path });
      for (const at of value.keys()) visit(value as never, at, field);
    } else if (isObject(value)) visitFields(value, field);
    else if (mark === undefined && value !== null) throw new Refusal("no_field_object", { param: path });
    else if (typeof value === "string") {
      if (mark === "@" || mark === "$" || (mark === "+" && readsAsAddress(value)))
        addresses.push({ owner, name, path, takesAssets: mark !== "@" });
      if (addresses.length > MAX_ADDRESSES) throw new Refusal("too_many_addresses", { what: MAX_ADDRESSES });
    }
    // 1e400 is read as Infinity, and would be written as null
    else if (value === Infinity || value === -Infinity) throw new Refusal("number_out_of_range");
  }
}

function isObject(value: unknown): value is Owner {
  return typeof value === "object" && value !== null;
}

/** A text that begins like an address, once the control characters that some readers ignore are taken out. */
const ADDRESS = /^\s*(?:[a-z][a-z\d+.-]*:[/\\]|[/\\]{2}|(?:https?|ftp|file|blob|data|asset):\S)/iu;

/** Returns true for a text that could be read as an address. Prose is not: `Asset: gold`. */
function readsAsAddress(text: string): boolean {
  return ADDRESS.test(text.replace(/\p{Cc}+/gu, ""));
}

function notAllowed(parent: string, name: string): Refusal {
  const param = (parent && `${parent}.`) + JSON.stringify(name.slice(0, 40)).slice(1, -1);
  return new Refusal("field_not_allowed", { param, advice: param });
}

/**
 * Values for requests without a field, where the gateway's own default could cost more than the cap. A lower cap takes
 * their place.
 */
const unsaid: Readonly<Record<string, number>> = {
  max_tokens: Infinity,
  "sequential_image_generation_options.max_images": Infinity,
  // the spec's default, where it has one
  duration: 5,
  "parameters.duration": 5,
};

/**
 * Holds a body to the caps, and sets the capped fields that it lacks. Nothing is lowered in silence: an answer cut
 * short would look like the model's doing.
 *
 * @throws {Refusal} 400 for what is beyond one
 */
export function holdCaps(body: Owner, table: Field, caps: Caps, model: string): void {
  for (const [path, given] of Object.entries(caps)) {
    const isTokens = path === "max_tokens" && typeof given === "number";
    const cap = isTokens ? Math.min(given, maxTokensOf(model) ?? given) : given;
    holdIn(body, path.split("."), table, path, cap);
  }
}

function holdIn(
  owner: unknown,
  [name = "", ...rest]: readonly string[],
  table: Field | undefined,
  path: string,
  cap: Caps[string],
): void {
  if (Array.isArray(owner)) for (const entry of owner) holdIn(entry, [name, ...rest], table, path, cap);
  else if (isObject(owner)) {
    const field = table?.fields.get(name);
    if (rest.length === 0) {
      const value = within(cap, owner[name], path, field?.isList === true);
      if (value !== undefined) owner[name] = value;
      return;
    }
    const child = owner[name] ?? (field?.isList ? [] : {});
    holdIn(child, rest, field, path, cap);
    if (Object.keys(child).length > 0) owner[name] = child;
  }
}

/** Checks the value of a field against its cap, and returns it; for a request without the field, the value to set. */
function within(cap: Caps[string], value: unknown, path: string, isListed: boolean): unknown {
  if (typeof cap !== "number") {
    const asked = value ?? cap[0];
    if (!cap.includes(asked as string)) throw beyond(path, `one of ${cap.join(", ")}`);
    return asked;
  }
  const silent = unsaid[path];
  const asked = value ?? (silent && Math.min(silent, cap));
  if (asked === undefined) return undefined;
  // elsewhere a gateway could take a list of one number for the number
  const isList = Array.isArray(asked) && (isListed || asked.every((entry) => typeof entry !== "number"));
  // one entry may come without its list
  const size = isList ? asked.length : isListed ? 1 : asked;
  if (!Number.isInteger(size) || (size as number) < (isList ? 0 : 1) || (size as number) > cap)
    throw beyond(path, isList ? `at most ${cap} long` : `a whole number from 1 to ${cap}`);
  return asked;
}

function beyond(param: string, what: string): Refusal {
  return new Refusal(param === "GroupId" ? "group_not_allowed" : "limit_exceeded", { param, what });
}
