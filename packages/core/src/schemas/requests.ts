import { type AssetRequest, assetRequest, checkAssetRequest } from "../assets/schema.js";
import { type CheckResult, createModelIssue } from "../base/validate.js";
import { type ChatRequests, chatRequests, checkChatRequest } from "../chat/protocol/schema.js";
import { checkImageRequest, type ImageRequests, imageRequests } from "../images/schema.js";
import { checkVideoRequest, type VideoRequests, videoRequests } from "../videos/schema/request.js";
import { type ModelId, models } from "./models.js";

/**
 * Valibot schemas of the requests, by model.
 *
 * @example
 * ```ts run
 * const result = requestSchemas["delta-5.3"]["~standard"].validate({ model: "delta-5.3", messages: [] });
 * ```
 */
export const requestSchemas = {
  ...chatRequests,
  ...imageRequests,
  ...videoRequests,
  /** Request to `gamma-asset` (spec, POST /gamma/asset/CreateAsset). */
  "gamma-asset": assetRequest,
} as const;

/** The request of each model. `scripts/json-schemas.ts` reads the docs here. */
export interface Requests extends ChatRequests, ImageRequests, VideoRequests {
  /** Registration of an image as an asset. */
  readonly "gamma-asset": AssetRequest;
}

/** Request to a model: `ModelRequest<"beta3.0-video">`. */
export type ModelRequest<Model extends ModelId> = Requests[Model];

const checks = {
  chat: checkChatRequest,
  image: checkImageRequest,
  video: checkVideoRequest,
  asset: checkAssetRequest,
};

/**
 * Checks a request by the rules of its model, without sending anything. The functions that send requests run the same
 * check.
 *
 * @returns `issues`: reasons why the gateway would reject the request. `warnings`: parts that it would ignore
 * @example
 * ```ts run
 * const { issues } = checkRequest({ model: "delta-5.3", messages: [], max_tokens: 0 });
 * console.log(issues[0]?.path); // "messages"
 * ```
 */
export function checkRequest(request: unknown): CheckResult {
  const { model } = Object(request) as { readonly model?: unknown };
  if (typeof model === "string" && Object.hasOwn(models, model))
    return checks[models[model as ModelId].kind](request);
  return { issues: [createModelIssue(model, Object.keys(models), "model")], warnings: [] };
}
