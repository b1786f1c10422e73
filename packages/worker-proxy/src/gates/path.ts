import type { RouteName } from "../admitted.js";
import type { Extension, ExtensionRoute } from "../extension.js";
import { Refusal } from "../refusal.js";
import { type IdKind, SENT_ID } from "./ids.js";

/** One row of the table: what may be asked, and the constant path it becomes. */
export interface Route {
  readonly name: RouteName;
  readonly method: "GET" | "POST" | "DELETE";
  /** The path at the gateway. An `{id}` stands for an id, the only part that varies. */
  readonly path: string;
  /** The top-level fields that a body may have. Another spelling of a known field is thus refused. */
  readonly fields?: RegExp;
  /** What the id in the path, the body or the answer names, and is signed as. */
  readonly ids?: IdKind;
  /** The body names an asset, and no model. */
  readonly isLookup?: boolean;
  readonly takesForms?: boolean;
  /** Who answers instead of the gateway. */
  readonly extension?: ExtensionRoute<never>;
}

const LOWER_CASE = /^[a-z][a-z0-9_]*$/;

/** Everything that can leave for the gateway. Nothing of a request's address does. */
const gatewayRoutes: readonly Route[] = [
  { name: "chat", method: "POST", path: "/v1/chat/completions", fields: LOWER_CASE },
  { name: "images", method: "POST", path: "/v1/images/generations", fields: LOWER_CASE },
  { name: "videos", method: "POST", path: "/v1/video/generations", fields: LOWER_CASE, ids: "task" },
  { name: "videos", method: "GET", path: "/v1/video/generations/{id}", ids: "task" },
  {
    name: "assets",
    method: "POST",
    path: "/gamma/asset/CreateAsset",
    fields: /^(?:model|GroupId|Name|AssetType|URL)$/,
    ids: "asset",
    takesForms: true,
  },
];

/** The paths among which a gateway's asset lookup is likely to be. */
const lookups = { name: "assets", path: "/gamma/asset/" } as const;

/** Where the proxy says of itself that it is there, and set up. */
const health: Route = { name: "health", method: "GET", path: "/health" };

/** The table of one proxy: the gateway's rows of the open groups, the asset lookup, and what extensions add. */
export function tableOf(
  open: readonly RouteName[],
  assetLookup: string | undefined,
  extensions: readonly Extension<never>[],
): readonly Route[] {
  const lookup: Route[] =
    assetLookup === undefined
      ? []
      : [{ name: "assets", method: "POST", path: assetLookup, fields: /^Id$/, ids: "asset", isLookup: true }];
  const added = extensions.flatMap(({ routes }) =>
    routes.map(
      (extension): Route => ({
        name: extension.name,
        method: extension.method,
        path: extension.path,
        ...(extension.id === "task" && { ids: "task" as const }),
        extension,
      }),
    ),
  );
  return [...gatewayRoutes, health, ...lookup, ...added].filter(({ name }) => open.includes(name));
}

/** A row that fits a request's path, with the id in it as it was sent. */
export interface Match {
  readonly route: Route;
  readonly sentId: string | undefined;
}

/** The rows for an address, or why it is refused. */
export interface Matches {
  /** More than one where a path has several methods. */
  readonly matches: readonly Match[];
  /** 404 for a path that is not served, 400 for a query. */
  readonly refusal: Refusal | undefined;
}

/** Looks a request's address up in the table. */
export function matchesOf(
  url: string,
  { basePath, table }: { readonly basePath: string; readonly table: readonly Route[] },
): Matches {
  const { pathname, hasQuery } = sentPathOf(url);
  const own = pathname.startsWith(basePath) ? pathname.slice(basePath.length) : "";
  const matches = table.flatMap((route) => matchOf(route, own));
  let refusal: Refusal | undefined;
  if (matches.length === 0) refusal = notServed(pathname, basePath, table);
  else if (hasQuery)
    refusal = new Refusal(400, "query_not_allowed", "remove the query: this path takes none");
  return { matches, refusal };
}

/** Says which option the operator may have forgotten, for the paths that everybody knows from the spec. */
function notServed(pathname: string, basePath: string, table: readonly Route[]): Refusal {
  const known = [...gatewayRoutes, lookups].find(({ path }) => pathname.includes(path));
  const start = known && pathname.slice(0, pathname.indexOf(known.path) + known.path.length);
  let option = "";
  if (known === lookups) option = "assetLookup";
  if (known && !table.some(({ name }) => name === known.name)) option = "routes";
  if (known && start !== basePath + known.path) option = "basePath";
  const advice = option && `; the proxy's operator sets \`${option}\``;
  return new Refusal(404, "not_found", `there is nothing at this path${advice}`, { advice: advice && start });
}

/**
 * The path exactly as it was sent. What parsing would change (`..`, `\`, `//host`, a control character) is no path
 * of ours: to check one form and to send another is how a key gets lost.
 */
function sentPathOf(url: string): { pathname: string; hasQuery: boolean } {
  const sent = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i, "");
  const [pathname = ""] = sent.split("?", 1);
  const isExact = URL.canParse(url) && new URL(url).pathname === pathname;
  return { pathname: isExact ? pathname : "", hasQuery: sent.includes("?") };
}

function matchOf(route: Route, path: string): Match[] {
  if (route.path === path) return [{ route, sentId: undefined }];
  const [before = "", after] = route.path.split("{id}");
  if (after === undefined || !path.startsWith(before) || !path.endsWith(after)) return [];
  const sentId = path.slice(before.length, path.length - after.length);
  return SENT_ID.test(sentId) ? [{ route, sentId }] : [];
}

/** The route of each family of the spec's models, by the beginning of its ids. */
const families: readonly (readonly [ids: RegExp, route: RouteName])[] = [
  [/^(?:alpha|gamma-chat|delta)-/, "chat"],
  [/^gamma-image-/, "images"],
  [/^(?:beta3\.0|gamma)-video/, "videos"],
  [/^gamma-asset/, "assets"],
];

/** The largest `max_tokens` of each model that has one. */
const maxTokens = new Map([
  ["alpha-v4.1-flash", 393_216],
  ["gamma-chat-1-6-251015", 8192],
  ["delta-5.3", 131_072],
]);

/** Tells whether a model is asked at this route. One of a family that the spec does not have may be asked at any. */
export function belongsTo(model: string, name: RouteName): boolean {
  return (families.find(([ids]) => ids.test(model))?.[1] ?? name) === name;
}

/** The largest `max_tokens` that a model takes, as far as the spec says. */
export function maxTokensOf(model: string): number {
  return maxTokens.get(model) ?? Number.POSITIVE_INFINITY;
}

/** Tells whether a model has the fields that the spec lists for one model alone: `user_id` and `stream_options`. */
export function hasOwnFields(model: string): boolean {
  return model === "alpha-v4.1-flash";
}
