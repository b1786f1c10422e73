/** The kind of thing that an id names. The mark of one does not fit the other. */
export type IdKind = "task" | "asset" | "epsilon";

/** A group of routes of the gateway: the part of the spec with the same name. */
export type GatewayRoute = "chat" | "images" | "videos" | "assets" | "epsilon";

/** A group of routes: of the gateway, `health` of the proxy, or the `name` of the routes of a plugin. */
export type RouteName = GatewayRoute | "health" | (string & {});

/** A request of the spec: its group, method and constant path, and the kind of the ids in its path and its answer. */
type Row = readonly [name: GatewayRoute, method: "GET" | "POST", path: string, ids?: IdKind];

/** All that can leave for the gateway. An `{id}` stands for an id, the only part of a path that varies. */
export const gatewayRoutes: readonly Row[] = [
  ["chat", "POST", "/v1/chat/completions"],
  ["images", "POST", "/v1/images/generations"],
  ["videos", "POST", "/v1/video/generations", "task"],
  ["videos", "GET", "/v1/video/generations/{id}", "task"],
  ["assets", "POST", "/gamma/asset/CreateAsset", "asset"],
  ["epsilon", "POST", "/epsilon/v1/videos/text2video", "epsilon"],
  ["epsilon", "POST", "/epsilon/v1/videos/image2video", "epsilon"],
  ["epsilon", "POST", "/epsilon/v1/videos/multi-image2video", "epsilon"],
  ["epsilon", "GET", "/epsilon/v1/videos/{id}", "epsilon"],
];

/** True for the groups of the gateway. */
export function isGatewayRoute(name: RouteName): name is GatewayRoute {
  return gatewayRoutes.some(([known]) => known === name);
}
