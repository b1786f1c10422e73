import { invalid, Refusal, show } from "../refusal.js";
import { readsAsAddress } from "./media.js";
import { isInSpec, listedFields } from "./models.js";
import type { Route } from "./path.js";

/** Fields that the operator adds: paths for all models, or for each model its own. */
export type AllowedFields = readonly string[] | Readonly<Record<string, readonly string[]>>;

/** A field of a request, and the fields in it. */
export interface Field {
  /** `input.media.url`; empty for the body itself. */
  readonly path: string;
  /** The marks of `models.ts`; `?` for what the operator adds; undefined where only the fields in it are listed. */
  kind: "" | "@" | "*" | "-" | "=1" | "?" | undefined;
  isList: boolean;
  readonly fields: Map<string, Field>;
}

/** The tables of one proxy: the fields that a model takes at a route. */
export type FieldsOf = (route: Pick<Route, "name" | "isLookup">, model: string) => Field;

/** The tables of the spec, with the operator's fields in them. */
export function createTables(allowed: AllowedFields): FieldsOf {
  const isForAll = (given: AllowedFields): given is readonly string[] => Array.isArray(given);
  const added = new Map(isForAll(allowed) ? [] : Object.entries(allowed));
  const tables = new Map<string, Field>();
  // the spec shows no shapes of these
  const epsilon: Field = { path: "", kind: "?", isList: false, fields: new Map() };
  return ({ name, isLookup }, model) => {
    if (name === "epsilon") return epsilon;
    // one table for all models that are not known: clients choose their names
    const own = isForAll(allowed) ? allowed : (added.get(model) ?? []);
    const key = isLookup ? "Id" : `${name} ${isInSpec(model) || added.has(model) ? model : ""}`;
    const table = tables.get(key) ?? tableOf(isLookup ? "Id*" : listedFields(name, model), own);
    tables.set(key, table);
    return table;
  };
}

function tableOf(listed: string, added: readonly string[]): Field {
  const root: Field = { path: "", kind: undefined, isList: false, fields: new Map() };
  for (const [, path = "", kind = ""] of listed.matchAll(/([\w.[\]]+)(\S*)/g))
    add(root, path, kind as Field["kind"]);
  for (const path of added) add(root, path, "?");
  return root;
}

function add(root: Field, path: string, kind: Field["kind"]): void {
  let field = root;
  for (const part of path.split(".")) {
    const name = part.replace("[]", "");
    if (field.kind === "-") field.kind = undefined;
    let next = field.fields.get(name);
    if (!next) {
      next = {
        path: field.path ? `${field.path}.${name}` : name,
        kind: undefined,
        isList: false,
        fields: new Map(),
      };
      field.fields.set(name, next);
    }
    next.isList ||= part !== name;
    field = next;
  }
  field.kind = kind;
}

/** Tells whether a table has a field that can reach the gateway. */
export function hasField(table: Field, path: string): boolean {
  let field: Field | undefined = table;
  for (const name of path.split(".")) {
    if (field?.kind === "?") return true;
    field = field?.fields.get(name);
  }
  return field !== undefined && field.kind !== "-" && field.kind !== "=1";
}

/** The address of a file, or of an asset, in a body. */
export interface Address {
  readonly text: string;
  readonly path: string;
  replace(text: string): void;
}

/** What was found in a body. */
export interface Sifted {
  /** The paths of fields that were left out. */
  readonly dropped: ReadonlySet<string>;
  readonly addresses: readonly Address[];
}

/** An object of a body, or a list. */
type Owner = Record<string | number, unknown>;

/**
 * Checks a body against its table in one walk, and takes out of it what is to be left out. The body is changed in
 * place; `readBody` has bounded its depth.
 *
 * @throws {Refusal} 400 for a field that is not listed
 */
export function siftBody(body: Owner, table: Field): Sifted {
  const dropped = new Set<string>();
  const addresses: Address[] = [];
  if (table.kind === "?") visitAny(body, table);
  else visitFields(body, table);
  return { dropped, addresses };

  function visitFields(owner: Owner, { fields, path }: Field): void {
    for (const name of Object.keys(owner)) {
      const value = owner[name];
      const field = fields.get(name);
      if (field && field.kind !== "-" && field.kind !== "=1") {
        visitField(owner, name, field);
        continue;
      }
      if (value !== null && !(field && (field.kind === "-" || value === 1)))
        throw notAllowed(path ? `${path}.${show(name)}` : show(name));
      delete owner[name];
      if (field && value !== null) dropped.add(field.path);
    }
  }

  function visitField(owner: Owner, name: string, field: Field): void {
    const value = owner[name];
    if (field.kind === "*" || field.kind === "?") visitValue(owner, name, field);
    else if (field.isList && Array.isArray(value))
      for (const at of value.keys()) visitOne(value as never, at, field);
    else visitOne(owner, name, field);
  }

  function visitOne(owner: Owner, name: string | number, field: Field): void {
    const value = owner[name];
    if (Array.isArray(value)) throw invalid(`${field.path} must not be a list here`, field.path);
    if (isObject(value)) visitFields(value, field);
    else if (field.kind === undefined && value !== null)
      throw invalid(`${field.path} must be an object`, field.path);
    else visitLeaf(owner, name, field.kind === "@", field);
  }

  /** The walk through what has no table. */
  function visitAny(owner: Owner, field: Field): void {
    for (const name of Object.keys(owner)) {
      if (name === "__proto__") throw invalid('"__proto__" is not a field');
      visitValue(owner, name, field);
    }
  }

  function visitValue(owner: Owner, name: string, field: Field): void {
    const value = owner[name];
    if (isObject(value)) visitAny(value, field);
    else
      visitLeaf(owner, name, field.kind === "?" && typeof value === "string" && readsAsAddress(value), field);
  }

  function visitLeaf(owner: Owner, name: string | number, isAddress: boolean, { path }: Field): void {
    const value = owner[name];
    if (isAddress && typeof value === "string")
      addresses.push({
        text: value,
        path,
        replace(text) {
          owner[name] = text;
        },
      });
    // 1e400 is read as Infinity, and would be written as null
    else if (typeof value === "number" && !Number.isFinite(value)) throw invalid("a number is out of range");
  }
}

function isObject(value: unknown): value is Owner {
  return typeof value === "object" && value !== null;
}

function notAllowed(param: string): Refusal {
  return new Refusal(
    400,
    "field_not_allowed",
    `"${param}" is no field of this model; leave it out, or let the proxy's operator add it to \`allowFields\``,
    { param, advice: param },
  );
}
