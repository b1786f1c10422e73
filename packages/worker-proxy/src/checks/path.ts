import type { PluginRoute } from "../api/plugin.js";
import { gatewayRoutes, type IdKind, isGatewayRoute, type RouteName } from "../api/routes.js";
import { Refusal } from "../refusals/refusal.js";

/** One row of the table: a request that is allowed, and its constant path at the gateway. */
export interface Route {
  readonly name: RouteName;
  readonly method: PluginRoute["method"];
  /** The path at the gateway. An `{id}` stands for an id, the only part that varies. */
  readonly path: string;
  /** The kind of the id in the path, the body or the answer: what it is signed as. */
  readonly ids?: IdKind | undefined;
  /** The body names an asset, and no model. */
  readonly isLookup?: boolean;
  /** The plugin's route that answers instead of the gateway. */
  readonly plugin?: PluginRoute<never>;
}

/** An id of the gateway's, with or without a mark. */
const SENT_ID = /^[A-Za-z0-9_-]{1,151}$/;
/** An id of the app's: up to 128 letters of up to nine characters each. */
const NAMED_ID = /^(?:[^/%]|%[0-9A-Fa-f]{2}){1,1152}$/;

/** The tables of one proxy: the rows that are open, and all others. */
export function tablesOf(
  isOpen: (name: RouteName) => boolean,
  assetLookup: string | undefined,
  added: readonly PluginRoute<never>[],
): { readonly table: readonly Route[]; readonly closed: readonly Route[] } {
  const rows: Route[] = gatewayRoutes.map(([name, method, path, ids]) => ({ name, method, path, ids }));
  rows.push({ name: "health", method: "GET", path: "/health" });
  if (assetLookup !== undefined)
    rows.push({ name: "assets", method: "POST", path: assetLookup, ids: "asset", isLookup: true });
  for (const plugin of added) {
    const { name, method, path, id } = plugin;
    rows.push({ name, method, path, ids: id === "task" ? id : undefined, plugin });
  }
  // a plugin's paths are open, unless they belong to a group of the gateway that is not
  const isServed = ({ name, plugin }: Route) =>
    isOpen(name) || (plugin !== undefined && !isGatewayRoute(name));
  return { table: rows.filter(isServed), closed: rows.filter((row) => !isServed(row)) };
}

/** Returns true for a route that is free and used often: it polls a task or an asset, or a plugin says so. */
export function isPoll({ method, isLookup, plugin }: Route): boolean {
  return method === "GET" || isLookup === true || plugin?.isFree === true;
}

/** A row that fits a request's path, with the id in it as it was sent. */
export interface Match {
  readonly route: Route;
  readonly sentId: string | undefined;
}

/** Host, path and query of an address, as they were sent; a host that only writes paths has none. */
const ADDRESS = /^(?:[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*)?([^?]*)(\?)?/i;

/** The rows for an address: more than one where a path has several methods. */
export type Found = ReturnType<typeof find>;

/**
 * Looks a request's address up in the table, exactly as it was sent. What parsing would change (`..`, `\`, `//host`, a
 * control character) is no path of ours: to check one form and to send another is how a key gets lost.
 */
export function find(
  url: string,
  { basePath, table }: { readonly basePath: string; readonly table: readonly Route[] },
) {
  const [, pathname = "", query] = ADDRESS.exec(url) ?? [];
  const parsed = URL.parse(url);
  const isOwn = parsed?.pathname === pathname && pathname.startsWith(basePath);
  const path = pathname.slice(basePath.length);
  const matches = isOwn ? table.flatMap((route) => matchOf(route, path) ?? []) : [];
  /** The methods of the path, `GET, DELETE`. */
  const methods = matches.map(({ route }) => route.method).join(", ");
  return { matches, methods, hasQuery: query !== undefined, host: parsed?.host ?? "" };
}

/**
 * @throws {Refusal} 404 for a path that is not served, 400 for a query that it does not take, 405 for a method that the path
 *   does not have
 */
export function matchFor({ method, url }: Request, { matches, methods, hasQuery }: Found): Match {
  if (methods === "") throw new Refusal("not_found");
  const match = matches.find(({ route }) => route.method === method);
  if (hasQuery && !takesQuery(match, url)) throw new Refusal("query_not_allowed");
  if (match) return match;
  const allow = `${methods}, OPTIONS`;
  throw new Refusal("method_not_allowed", { what: allow, headers: { allow } });
}

/** Returns true where a plugin takes each parameter of the query, and none comes twice. */
function takesQuery(match: Match | undefined, url: string): boolean {
  const given = [...(URL.parse(url)?.searchParams.keys() ?? [])];
  const taken = match?.route.plugin?.query ?? [];
  const isOnce = new Set(given).size === given.length;
  return isOnce && taken.length > 0 && given.every((name) => taken.includes(name));
}

function matchOf(route: Route, path: string): Match | undefined {
  if (route.path === path) return { route, sentId: undefined };
  const [before = "", after] = route.path.split("{id}");
  if (after === undefined || !path.startsWith(before) || !path.endsWith(after)) return undefined;
  const sentId = path.slice(before.length, path.length - after.length);
  const shape = route.plugin?.id === "named" ? NAMED_ID : SENT_ID;
  return shape.test(sentId) ? { route, sentId } : undefined;
}
