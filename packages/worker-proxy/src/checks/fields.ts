import type { Address, Body, RouteGroup, Shape } from "../api/routes.js";
import { Refusal } from "../refusals/refusal.js";

/** The rules of one model. */
export interface ModelRules {
  readonly fields: Shape;
  /** The largest `max_tokens`; undefined if the spec has none. */
  readonly maxTokens?: number;
  /** True for the model with the fields `user_id` and `stream_options`. */
  readonly hasUserId?: boolean;
}

/** The rules of a group by model; under `""` the rules of all other models. */
export type GroupRules = Readonly<Record<string, ModelRules>>;

/** Reads the rules of a group, with the fields that the operator adds to all models. */
export function readRules({ models }: RouteGroup, allowed: readonly string[]): GroupRules {
  const parsed: Record<string, { fields: Shape }> = JSON.parse(models);
  for (const path of allowed)
    for (const rules of Object.values(parsed)) rules.fields = allowField(rules.fields, path.split("."));
  return parsed;
}

/** Returns the rules of a model. Clients choose the names of models. */
export function findRules(rules: GroupRules, model: string): ModelRules {
  return rules[Object.hasOwn(rules, model) ? model : ""] as ModelRules;
}

/** Adds a field that may hold anything. */
function allowField(shape: Shape | undefined, [name, ...rest]: readonly string[]): Shape {
  if (name === undefined || isFree(shape)) return isFree(shape) ? shape : "free";
  if (isList(shape)) return [allowField(shape[0], [name, ...rest])];
  const fields = typeof shape === "string" ? { "": shape } : shape;
  return { ...fields, [name]: allowField(fields && findField(fields, name), rest) };
}

/** Returns true for a field that may hold anything. */
function isFree(shape: unknown): shape is string {
  return shape === "json" || shape === "free";
}

/** Returns true for a field with a list of values. */
export function isList(shape: unknown): shape is readonly [Shape] {
  return Array.isArray(shape);
}

/** Returns the form of a field of `parent`; undefined for an unknown field. */
export function findField(parent: Shape | undefined, name: string): Shape | undefined {
  const shape = isList(parent) ? parent[0] : parent;
  if (isFree(shape)) return shape;
  const hasField = typeof shape === "object" && name !== "" && Object.hasOwn(shape, name);
  return hasField ? (shape as Readonly<Record<string, Shape>>)[name] : undefined;
}

/** Returns true if requests of a model can have a field: `input.media.url`. */
export function hasField({ fields }: ModelRules, path: string): boolean {
  return path.split(".").reduce<Shape | undefined>(findField, fields) !== undefined;
}

/** More than any request has. Each is parsed, and each asset's signature is checked. */
const MAX_ADDRESSES = 1000;

type Owner = Address["owner"];

/**
 * Checks a body against its table in one walk; `readBody` has bounded its depth. A field that is null is deleted unless the
 * table has it.
 *
 * @returns the addresses that are still to be checked
 * @throws {Refusal} 400 for a field that is not listed
 */
export function checkFields(body: Body, fields: Shape): readonly Address[] {
  const addresses: Address[] = [];
  visitFields(body, fields, "");
  return addresses;

  function visitFields(owner: Owner, shape: Shape, parent: string): void {
    for (const name of Object.keys(owner)) {
      const field = findField(shape, name);
      // clients choose the names in a free field
      const path = isFree(shape) ? parent : parent ? `${parent}.${name}` : name;
      if (field !== undefined) visit(owner, name, field, path);
      else if (owner[name] === null) delete owner[name];
      else {
        const param = (parent && `${parent}.`) + JSON.stringify(name.slice(0, 40)).slice(1, -1);
        throw new Refusal("field_not_allowed", { param, advice: param });
      }
    }
  }

  function visit(owner: Owner, name: string | number, shape: Shape, path: string): void {
    const value = owner[name];
    const entry = isList(shape) ? shape[0] : shape;
    const kind = typeof entry === "string" ? entry : (entry as { readonly "": string })[""];
    if (name === "__proto__") throw refuseField(path, "has a name that is not a field's");
    if (Array.isArray(value) && !isFree(entry)) {
      if (!isList(shape)) throw refuseField(path, "must not be a list here");
      for (const at of value.keys()) visit(value as never, at, entry, path);
    } else if (typeof value === "object" && value !== null) visitFields(value as Owner, entry, path);
    else checkPlain({ owner, name, path, takesAssets: kind !== "file" }, value, kind);
  }

  function checkPlain(address: Address, value: unknown, kind: string | undefined): void {
    const { path } = address;
    if (kind === undefined && value !== null) throw refuseField(path, "must be an object");
    // 1e400 is read as Infinity, and would be written as null
    if (value === Infinity || value === -Infinity) throw refuseField(path, "is out of range");
    if (typeof value !== "string") return;
    if (kind === "file" || kind === "asset" || (kind === "free" && isLikeAddress(value)))
      addresses.push(address);
    if (addresses.length > MAX_ADDRESSES)
      throw new Refusal("too_much", { what: `has more than ${MAX_ADDRESSES} addresses` });
  }
}

/** The beginning of an address. Some parsers ignore control characters, so they are removed before. */
const ADDRESS = /^\s*(?:[a-z][a-z\d+.-]*:[/\\]|[/\\]{2}|(?:https?|ftp|file|blob|data|asset):\S)/iu;

/** Returns true for a text that could be read as an address. Prose is not: `Asset: gold`. */
function isLikeAddress(text: string): boolean {
  return ADDRESS.test(text.replace(/\p{Cc}+/gu, ""));
}

function refuseField(param: string, what: string): Refusal {
  return new Refusal("bad_field", { param, what });
}
