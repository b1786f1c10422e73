/** The kind of thing that an id names. The mark of one does not fit the other. */
export type IdKind = "task" | "asset" | "epsilon";

/** A group of routes, with all that the proxy has to know of it. */
interface RouteGroup {
  /** Kind of the ids in its paths and answers, each of which belongs to one user; undefined where there are none. */
  readonly ids: IdKind | undefined;
  /** True where the fields of its requests are listed for each model, and all others refused. */
  readonly isTabled: boolean;
  /** True where a request creates something that `once` answers from memory if it comes again with its key. */
  readonly isCreate: boolean;
  /** Requests that leave for the gateway: method and constant path. An `{id}` stands for an id, the only part that varies. */
  readonly paths: readonly (readonly [method: "GET" | "POST", path: string])[];
}

/** A group that the proxy or a part of it answers. */
const own = { ids: undefined, isTabled: false, isCreate: false, paths: [] } as const satisfies RouteGroup;

/** All routes. Nothing of a request's address leaves for the gateway but what fits one of these paths. */
export const routeGroups = {
  chat: { ids: undefined, isTabled: true, isCreate: false, paths: [["POST", "/v1/chat/completions"]] },
  images: { ids: undefined, isTabled: true, isCreate: true, paths: [["POST", "/v1/images/generations"]] },
  videos: {
    ids: "task",
    isTabled: true,
    isCreate: true,
    paths: [
      ["POST", "/v1/video/generations"],
      ["GET", "/v1/video/generations/{id}"],
    ],
  },
  assets: { ids: "asset", isTabled: true, isCreate: true, paths: [["POST", "/gamma/asset/CreateAsset"]] },
  epsilon: {
    ids: "epsilon",
    isTabled: false,
    isCreate: true,
    paths: [
      ["POST", "/epsilon/v1/videos/text2video"],
      ["POST", "/epsilon/v1/videos/image2video"],
      ["POST", "/epsilon/v1/videos/multi-image2video"],
      ["GET", "/epsilon/v1/videos/{id}"],
    ],
  },
  health: own,
  budget: own,
  admin: own,
  /** Opened by `mediaStore` of `@sluice/durable` itself. */
  media: own,
} as const satisfies Record<string, RouteGroup>;

/**
 * A group of routes: those of the spec's part of the same name, `GET /health`, `GET /v1/budget`, the files of `mediaStore` and
 * the paths of `admin`, both of `@sluice/durable`, or the `name` of the routes of another extension.
 */
export type RouteName = KnownRoute | (string & {});

/** The groups that the proxy knows without an extension. */
export type KnownRoute = keyof typeof routeGroups;
