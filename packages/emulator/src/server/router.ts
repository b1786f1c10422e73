import type { Handler } from "./exchange.js";

/** Handlers by path and method. A path may end in `{name}`, which matches one segment. */
export type Routes = Readonly<Record<string, Readonly<Record<string, Handler>>>>;

/** The methods of a path, and the segment in place of its `{…}`. */
export interface Match {
  readonly methods: Readonly<Record<string, Handler>>;
  readonly param: string;
}

/** Finds the route of `path`: the same path, or a path that ends in `{name}`. */
export function matchRoute(routes: Routes, path: string): Match | undefined {
  if (Object.hasOwn(routes, path)) return matchKey(path, "");
  const [, start = "", segment = ""] = /^(.*\/)([^/]+)$/.exec(path) ?? [];
  const route = Object.keys(routes).find((key) => key.startsWith(`${start}{`));
  return route === undefined ? undefined : matchKey(route, segment);

  function matchKey(key: string, param: string): Match | undefined {
    const methods = routes[key];
    return methods && { methods, param };
  }
}
