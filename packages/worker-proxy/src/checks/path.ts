import type { PluginRoute } from "../api/plugin.js";
import type { IdKind, RouteGroup, RouteName } from "../api/routes.js";
import { Refusal } from "../refusals/refusal.js";
import type { GroupRules } from "./fields.js";

/** A group of routes of one proxy. */
export interface OpenGroup extends RouteGroup {
  readonly rules: GroupRules;
}

/** A request that is allowed, and its constant path at the gateway. */
export interface Route {
  readonly name: RouteName;
  readonly method: PluginRoute["method"];
  /** The path at the gateway. An `{id}` stands for an id, the only part that varies. */
  readonly path: string;
  /** The kind of the id in the path, the body or the response: the kind that its mark is for. */
  readonly ids?: IdKind | undefined;
  /** The body names an asset, and no model. */
  readonly isLookup?: boolean;
  /** The group of the gateway, with the rules of its models. */
  readonly group?: OpenGroup | undefined;
  /** Returns true if the route takes the query of an address. @default it takes none */
  readonly takesQuery?: (address: Found["parsed"]) => boolean;
  /** The plugin's route that responds instead of the gateway. */
  readonly plugin?: PluginRoute<never>;
}

/** An id of the gateway, with or without a signature. */
const SENT_ID = /^[A-Za-z0-9_-]{1,151}$/;

/** Returns true for a route that is free and used often: a poll of a task or an asset, or a free route of a plugin. */
export function isPoll({ method, isLookup, plugin }: Route): boolean {
  return method === "GET" || isLookup === true || plugin?.isFree === true;
}

/** A route that fits a request's path, with the id in it as it was sent. */
export interface Match {
  readonly route: Route;
  readonly signedId: string | undefined;
}

/** The path and the begin of the query of an address, as they were sent. */
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*([^?]*)(\?)?/i;

/** The routes for an address. */
export interface Found {
  /** More than one where a path has several methods. */
  matches: readonly Match[];
  /** `?` if the address has a query; undefined without one. */
  readonly query: string | undefined;
  readonly parsed: URL | null;
}

/** The paths that a proxy serves. */
interface Served {
  readonly basePath: string;
  readonly table: readonly Route[];
}

/**
 * Looks a request's address up in the table, exactly as it was sent. Parsing would change `..`, `\`, `//host` and control
 * characters. Such a path is not served: if the checked path were not the sent path, the key could reach another one.
 */
export function findRoutes(url: string, { basePath, table }: Served): Found {
  const [, pathname = "", query] = ADDRESS.exec(url) ?? [];
  const parsed = URL.parse(url);
  const isOwn = parsed?.pathname === pathname && pathname.startsWith(basePath);
  const path = pathname.slice(basePath.length);
  const matches = isOwn ? table.flatMap((route) => matchRoute(route, path) ?? []) : [];
  return { matches, query, parsed };
}

/**
 * @throws {Refusal} 404 for a path that is not served, 400 for a query that it does not take, 405 for a method that the path
 *   does not have
 */
export function matchRequest(method: string, { matches, query, parsed }: Found, served: Served): Match {
  if (matches.length === 0) throw refusePath(parsed?.pathname ?? "", served);
  const match = matches.find(({ route }) => route.method === method);
  if (query !== undefined && !match?.route.takesQuery?.(parsed)) throw new Refusal("query_not_allowed");
  if (match) return match;
  const allow = `${listMethods(matches)}, OPTIONS`;
  throw new Refusal("method_not_allowed", { what: allow, headers: { allow } });
}

/** Returns the methods of a path, `GET, DELETE`. */
export function listMethods(matches: readonly Match[]): string {
  return matches.map(({ route }) => route.method).join(", ");
}

/** Names the paths that are served: the base URL of a client often has one `/v1` or `basePath` too many or too few. */
function refusePath(pathname: string, { basePath, table }: Served): Refusal {
  // a path like a path of the spec
  if (!/\/(?:v1|chat|images|video|gamma|epsilon)\//.test(pathname)) return new Refusal("not_found");
  const open = table.flatMap(({ path, plugin }) => (plugin ? [] : basePath + path)).join(", ");
  return new Refusal("not_found", { what: `; the proxy serves ${open}; its operator lists \`routes\`` });
}

function matchRoute(route: Route, path: string): Match | undefined {
  if (route.path === path) return { route, signedId: undefined };
  const [before = "", after] = route.path.split("{id}");
  if (after === undefined || !path.startsWith(before) || !path.endsWith(after)) return undefined;
  const signedId = path.slice(before.length, path.length - after.length);
  return SENT_ID.test(signedId) ? { route, signedId } : undefined;
}
