import type { Body, GatewayPath, IdKind, RouteGroup } from "../api/routes.js";
import { applyCaps } from "../checks/caps.js";
import { ids } from "../checks/ids.js";
import { checkMediaAddress } from "../checks/media.js";
import { ensure } from "../refusals/read-option.js";
import { refuseAs } from "../refusals/refusal.js";
import { mediaRefusals } from "../refusals/texts.js";
import { assetModels, imageModels, videoModels } from "./spec-models.js";

/**
 * Opens `POST /v1/images/generations`.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, routes: [chat, images] });
 * ```
 */
export const images: RouteGroup = {
  name: "images",
  models: imageModels,
  paths: () => [{ method: "POST", path: "/v1/images/generations" }],
  applyCaps,
  checkAddress: checkMediaAddress,
};

/**
 * Opens `POST /v1/video/generations`, and the polls of its tasks. Needs a `secret`, unless all callers are one user.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, routes: [videos], secret: (env) => env.PROXY_SECRET });
 * ```
 */
export const videos: RouteGroup = {
  name: "videos",
  models: videoModels,
  paths: () => [
    { method: "POST", path: "/v1/video/generations", ids: "task" },
    { method: "GET", path: "/v1/video/generations/{id}", ids: "task" },
  ],
  applyCaps,
  checkAddress: checkMediaAddress,
  ids,
};

/**
 * Opens `POST /gamma/asset/CreateAsset`, and the lookup at `gateway.assetLookup`. Needs a `secret`, unless all callers are
 * one user, and a cap that lists the groups of assets.
 *
 * @example
 * ```ts
 * createProxy<Env>({
 *   ...options,
 *   routes: [assets],
 *   secret: (env) => env.PROXY_SECRET,
 *   models: { "gamma-asset": { GroupId: ["group-1"] } },
 * });
 * ```
 */
export const assets: RouteGroup = {
  name: "assets",
  models: assetModels,
  paths({ assetLookup }) {
    const isPath = assetLookup === undefined || /^(?:\/[\w-]+)+$/.test(assetLookup);
    ensure(isPath, 'gateway.assetLookup: give a path like "/gamma/asset/GetAsset"');
    const lookup: readonly GatewayPath[] = assetLookup
      ? [{ method: "POST", path: assetLookup, ids: "asset", isLookup: true }]
      : [];
    return [{ method: "POST", path: "/gamma/asset/CreateAsset", ids: "asset" }, ...lookup];
  },
  /** Only a cap allows the use of a group. */
  checkBody(_body, { models }, model) {
    if (Object.hasOwn(models.get(model) ?? {}, "GroupId")) return;
    throw refuseAs(mediaRefusals.no_groups, "no_groups", { what: model, param: "GroupId", advice: model });
  },
  applyCaps,
  checkAddress: checkMediaAddress,
  ids,
};

const createEpsilonPath = (kind: string): GatewayPath => ({
  method: "POST",
  path: `/epsilon/v1/videos/${kind}`,
  ids: "epsilon" satisfies IdKind,
});

/**
 * Opens the three requests of epsilon, and the polls of its tasks. The spec does not list their fields, so every field
 * passes. Needs a `secret`, unless all callers are one user.
 *
 * @example
 * ```ts
 * createProxy<Env>({
 *   ...options,
 *   routes: [epsilon],
 *   secret: (env) => env.PROXY_SECRET,
 *   models: ["epsilon"],
 * });
 * ```
 */
export const epsilon: RouteGroup = {
  name: "epsilon",
  // the spec shows no shapes of these
  models: '{"":{"fields":"free"}}',
  paths: () => [
    createEpsilonPath("text2video"),
    createEpsilonPath("image2video"),
    createEpsilonPath("multi-image2video"),
    { method: "GET", path: "/epsilon/v1/videos/{id}", ids: "epsilon" },
  ],
  readModels: readEpsilonModels,
  applyCaps,
  checkAddress: checkMediaAddress,
  ids,
};

/** @throws {Refusal} 400 for another spelling of the field, which no table refuses */
function readEpsilonModels(body: Body): readonly [string, ...string[]] {
  const other = Object.keys(body).find(
    (key) => /^model[_-]?(?:name|id)?$/i.test(key) && !/^model(?:_name)?$/.test(key),
  );
  if (other !== undefined) throw refuseAs(mediaRefusals.model_misnamed, "model_misnamed", { param: other });
  const given = [body["model"], body["model_name"]].filter((named) => (named ?? undefined) !== undefined);
  const [first = "epsilon", ...others] = given as string[];
  return [first, ...others];
}
