import { type IdKind, type KnownRoute, type RouteName, routeGroups } from "./routes.js";

/* Lists that follow from the table of routes. */

/** A request of the spec, by its group, method and constant path. */
interface SpecRoute {
  readonly name: KnownRoute;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly ids: IdKind | undefined;
}

/** Everything that can leave for the gateway. Nothing of a request's address does. */
export const specRoutes: readonly SpecRoute[] = Object.entries(routeGroups).flatMap(
  ([name, { ids, paths }]) =>
    paths.map(([method, path]) => ({ name: name as KnownRoute, method, path, ids })),
);

/** Returns the names of the groups that a property picks. */
export function groupsWith(property: "ids" | "isTabled" | "isCreate"): readonly RouteName[] {
  const names = Object.keys(routeGroups) as KnownRoute[];
  return names.filter((name) => routeGroups[name][property]);
}
