import type { RouteName } from "./options.js";
import { Refusal } from "./refusal.js";

/** One row of the table: what may be asked, and the constant path it becomes. */
export interface Route {
  readonly name: RouteName;
  readonly method: "GET" | "POST";
  /** The path at the gateway. An `{id}` stands for a task's id, the only part that varies. */
  readonly path: string;
  /** The top-level fields that a body may have. Another spelling of a known field is thus refused. */
  readonly fields?: RegExp;
}

const LOWER_CASE = /^[a-z][a-z0-9_]*$/;

/** Everything that can leave for the gateway. Nothing of a request's address does. */
export const routes: readonly Route[] = [
  { name: "chat", method: "POST", path: "/v1/chat/completions", fields: LOWER_CASE },
  { name: "images", method: "POST", path: "/v1/images/generations", fields: LOWER_CASE },
  { name: "videos", method: "POST", path: "/v1/video/generations", fields: LOWER_CASE },
  { name: "videos", method: "GET", path: "/v1/video/generations/{id}" },
  {
    name: "assets",
    method: "POST",
    path: "/gamma/asset/CreateAsset",
    fields: /^(?:model|GroupId|Name|AssetType|URL)$/,
  },
];

const TASK_ID = /^[A-Za-z0-9_-]{1,128}$/;

/** A row that fits a request's path, with the path to ask for at the gateway. */
export interface Match {
  readonly route: Route;
  readonly upstreamPath: string;
}

/**
 * The rows for a request's address; more than one where a path has several methods.
 *
 * @throws {Refusal} 404 for any other path, 400 for a query
 */
export function matchesOf(url: string, basePath: string, enabled: readonly RouteName[]): Match[] {
  const { pathname, hasQuery } = sentPathOf(url);
  const own = pathname.startsWith(basePath) ? pathname.slice(basePath.length) : "";
  const matches = routes.filter(({ name }) => enabled.includes(name)).flatMap((route) => matchOf(route, own));
  if (matches.length === 0) throw new Refusal(404, "not_found", "there is nothing at this path");
  if (hasQuery) throw new Refusal(400, "query_not_allowed", "remove the query: this path takes none");
  return matches;
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
  if (route.path === path) return [{ route, upstreamPath: route.path }];
  const [before, after] = route.path.split("{id}");
  if (after === undefined || !path.startsWith(before as string)) return [];
  const id = path.slice((before as string).length);
  return TASK_ID.test(id) ? [{ route, upstreamPath: before + id }] : [];
}

/** Where the spec's models are asked, and the largest `max_tokens` of those that have one. */
const models: Readonly<Record<string, readonly [route: RouteName, maxTokens?: number]>> = {
  "alpha-v4.1-flash": ["chat", 393_216],
  "gamma-chat-1-6-251015": ["chat", 8192],
  "delta-5.3": ["chat", 131_072],
  "gamma-image-4-0-250828": ["images"],
  "gamma-image-5-0-260128": ["images"],
  "beta3.0-video": ["videos"],
  "beta3.0-video-prime": ["videos"],
  "gamma-video-1-5-pro-251215": ["videos"],
  "gamma-video-1-0-pro-fast-251015": ["videos"],
  "gamma-video-2.0": ["videos"],
  "gamma-video-fast": ["videos"],
  "gamma-asset": ["assets"],
};

/** Whether a model is asked at this route. One that the spec does not list yet may be asked at any. */
export function belongsTo(model: string, name: RouteName): boolean {
  return !Object.hasOwn(models, model) || models[model]?.[0] === name;
}

/** The largest `max_tokens` that a model takes, as far as the spec says. */
export function maxTokensOf(model: string): number {
  return (Object.hasOwn(models, model) && models[model]?.[1]) || Number.POSITIVE_INFINITY;
}
