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

/** More than any request has. Each is parsed, and each asset's signature is checked. */
const MAX_ADDRESSES = 1000;

/** An object of a body, or a list. */
type Owner = Record<string | number, unknown>;

/** Where a body has the address of a file or of an asset. */
export interface Address {
  readonly owner: Owner;
  readonly name: string | number;
  readonly path: string;
}

/** The contents of a body that are looked at further. */
export interface Sifted {
  /** The paths of the fields that were left out. */
  readonly dropped: ReadonlySet<string>;
  readonly addresses: readonly Address[];
}

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
      const field = fields.get(name);
      if (field && field.kind !== "-" && field.kind !== "=1") visit(owner, name, field);
      else {
        const value = owner[name];
        if (value !== null && !(field && (field.kind === "-" || value === 1)))
          throw notAllowed(path ? `${path}.${show(name)}` : show(name));
        delete owner[name];
        if (field && value !== null) dropped.add(field.path);
      }
    }
  }

  /** The walk through what has no table. */
  function visitAny(owner: Owner, field: Field): void {
    for (const name of Object.keys(owner)) {
      if (name === "__proto__") throw invalid('"__proto__" is not a field');
      visit(owner, name, field);
    }
  }

  /** @param name a number for an entry of a list, which is no list itself */
  function visit(owner: Owner, name: string | number, field: Field): void {
    const value = owner[name];
    const { kind, path } = field;
    if (isObject(value)) {
      if (kind === "*" || kind === "?") visitAny(value, field);
      else if (!Array.isArray(value)) visitFields(value, field);
      else if (!field.isList || typeof name === "number")
        throw invalid(`${path} must not be a list here`, path);
      else for (let at = 0; at < value.length; at += 1) visit(value as never, at, field);
    } else if (kind === undefined && value !== null) throw invalid(`${path} must be an object`, path);
    else if (typeof value === "string") {
      if (kind === "@" || (kind === "?" && readsAsAddress(value))) addresses.push({ owner, name, path });
      if (addresses.length > MAX_ADDRESSES)
        throw invalid(`the body has more than ${MAX_ADDRESSES} addresses; send less`);
    }
    // 1e400 is read as Infinity, and would be written as null
    else if (value === Infinity || value === -Infinity) throw invalid("a number is out of range");
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
