import type { Address, RouteGroup } from "../api/routes.js";
import { Refusal } from "../refusals/refusal.js";

/*
 * Tables of fields are written as text: the names of the fields, each with a mark for the plain value that it may have.
 * None: any. `@`: the address of a file. `$`: that of a file or an asset. `*`: JSON of any form. `+`: anything, by the operator's
 * word. `{…}` has the fields of an object, and `[…]` those of the objects in a list; `~` among them is the plain value that may
 * stand for one. `[]` is a list of values.
 */

/** A field of a request, and the fields in it. */
export interface Field {
  /** `input.media.url`; empty for the body itself. */
  readonly path: string;
  /** The mark of its plain value; undefined where only the fields in it are listed. */
  mark: string | undefined;
  isList: boolean;
  readonly fields: Map<string, Field>;
}

/** The rules of one model. */
export interface ModelRules {
  readonly table: Field;
  /** The largest `max_tokens`; undefined if the spec has none. */
  readonly maxTokens: number | undefined;
  /** True for the model with the fields `user_id` and `stream_options`. */
  readonly hasUserId: boolean;
}

/** Returns the rules of a model in a group of routes. */
export type FindRules = (group: RouteGroup, model: string) => ModelRules;

/** Creates the rules of one proxy: the spec's, with the fields that the operator adds to all models. */
export function createRules(allowed: readonly string[]): FindRules {
  const known = new Map<string, ModelRules>();
  return (group, model) => {
    const specs = group.models.split("\n").map((line) => line.split("|"));
    const spec = specs.find(([id]) => id === model);
    // one table for all models that are not known: clients choose their names
    const key = `${group.name} ${spec ? model : ""}`;
    const rules = known.get(key) ?? createModelRules(group, spec, specs);
    known.set(key, rules);
    return rules;
  };

  function createModelRules({ name }: RouteGroup, spec: string[] | undefined, specs: string[][]): ModelRules {
    const table = createField("");
    for (const [, , fields = ""] of spec ? [spec] : specs) addFields(table, fields);
    // the spec shows no shapes of these
    if (name === "epsilon") table.mark = "+";
    // too many texts for a model are the gateway's to refuse
    if (name === "chat") addFields(table, "stop[]");
    for (const path of allowed) addFields(table, `${path.replaceAll(".", "{")}+`);
    const maxTokens = Number(spec?.[1]) || undefined;
    return { table, maxTokens, hasUserId: spec?.[2]?.endsWith(" user_id") === true };
  }
}

const FIELD = /([\w~]+)([@$*+]?)(\[\]|[[{]?)|[\]}]/g;

/** Adds fields to a table. A field that it already has gets the values of both. */
export function addFields(table: Field, text: string): Field {
  const parents = [table];
  for (const [, name, mark = "", bracket = ""] of text.matchAll(FIELD)) {
    const parent = parents.at(-1) ?? table;
    if (name === undefined) {
      parents.pop();
      continue;
    }
    const field = name === "~" ? parent : addChild(parent, name);
    if (bracket.startsWith("[")) field.isList = true;
    if (bracket === "[" || bracket === "{") parents.push(field);
    // a field that may name an asset for one model may name one for all
    else if (field.mark !== "$" || mark !== "@") field.mark = mark;
  }
  return table;
}

function addChild(parent: Field, name: string): Field {
  const child = parent.fields.get(name) ?? createField(parent.path ? `${parent.path}.${name}` : name);
  parent.fields.set(name, child);
  return child;
}

/** Creates a table, or a field of one. */
export function createField(path: string): Field {
  return { path, mark: undefined, isList: false, fields: new Map() };
}

/** Returns true for a field that may hold anything. */
function isFree({ mark }: Field): boolean {
  return mark === "*" || mark === "+";
}

/** Returns true if a table has a field. */
export function hasField(table: Field, path: string): boolean {
  let field: Field | undefined = table;
  for (const name of path.split(".")) {
    if (field?.mark === "+") return true;
    field = field?.fields.get(name);
  }
  return field !== undefined;
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
export function checkFields(body: Owner, table: Field): readonly Address[] {
  const addresses: Address[] = [];
  visitFields(body, table);
  return addresses;

  function visitFields(owner: Owner, parent: Field): void {
    for (const name of Object.keys(owner)) {
      const isAny = isFree(parent);
      if (isAny && name === "__proto__") throw refuseField(name, "is not a field");
      const field = isAny ? parent : parent.fields.get(name);
      if (field) visit(owner, name, field);
      else if (owner[name] === null) delete owner[name];
      else throw refuseUnknown(parent.path, name);
    }
  }

  /** @param name a number for an entry of a list, which must not be a list itself */
  function visit(owner: Owner, name: string | number, field: Field): void {
    const value = owner[name];
    const { mark, path } = field;
    if (Array.isArray(value) && !isFree(field)) {
      if (!field.isList || typeof name === "number") throw refuseField(path, "must not be a list here");
      for (const at of value.keys()) visit(value as never, at, field);
    } else if (typeof value === "object" && value !== null) visitFields(value as Owner, field);
    else if (mark === undefined && value !== null) throw refuseField(path, "must be an object");
    else if (typeof value === "string") {
      if (mark === "@" || mark === "$" || (mark === "+" && isLikeAddress(value)))
        addresses.push({ owner, name, path, takesAssets: mark !== "@" });
      if (addresses.length > MAX_ADDRESSES)
        throw new Refusal("too_much", { what: `has more than ${MAX_ADDRESSES} addresses` });
    }
    // 1e400 is read as Infinity, and would be written as null
    else if (value === Infinity || value === -Infinity) throw refuseField(path, "is out of range");
  }
}

/** A text that begins like an address, once the control characters that some readers ignore are taken out. */
const ADDRESS = /^\s*(?:[a-z][a-z\d+.-]*:[/\\]|[/\\]{2}|(?:https?|ftp|file|blob|data|asset):\S)/iu;

/** Returns true for a text that could be read as an address. Prose is not: `Asset: gold`. */
function isLikeAddress(text: string): boolean {
  return ADDRESS.test(text.replace(/\p{Cc}+/gu, ""));
}

function refuseField(param: string, what: string): Refusal {
  return new Refusal("bad_field", { param, what });
}

function refuseUnknown(parent: string, name: string): Refusal {
  const param = (parent && `${parent}.`) + JSON.stringify(name.slice(0, 40)).slice(1, -1);
  return new Refusal("field_not_allowed", { param, advice: param });
}
