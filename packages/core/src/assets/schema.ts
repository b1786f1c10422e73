import * as v from "valibot";
import {
  assertRequest,
  type CheckOptions,
  type CheckResult,
  checkByModel,
  notEmpty,
  type RequestOf,
  type Rules,
} from "../base/validate.js";
import { isBase64, isHTTP, isImageDataURI } from "../base/web-address.js";
import type { Connection } from "../transport/send.js";
import { assetModels } from "../types/media-models.js";

const requiredText = v.pipe(v.string(), notEmpty());

const imageFile = v.pipe(
  v.blob(),
  v.check(({ size }) => size > 0, "must not be an empty file"),
  v.check(
    ({ type }) => type === "" || type.startsWith("image/"),
    "must be an image: only images can be registered",
  ),
);
const imageText = v.pipe(
  requiredText,
  v.check(
    (url) => url === "" || isHTTP(url) || isImageDataURI(url) || isBase64(url),
    "must be an http(s) URL, a data URI of an image, Base64, or a File or Blob",
  ),
);
const imageSource: v.GenericSchema<string | Blob> = v.lazy((input) =>
  input instanceof Blob ? imageFile : imageText,
);

const registration = v.object({
  /** The model of the registration. The only one. */
  model: v.literal("gamma-asset"),
  /** Id of an existing asset group. The spec shows no way to create one. Not empty. */
  GroupId: requiredText,
  /** Name of the asset. Not empty. */
  Name: requiredText,
  /** Kind of the asset. Images are the only kind. */
  AssetType: v.picklist(assetModels["gamma-asset"].types),
  /** The image: an http(s) URL, a data URI, plain Base64, or a `File` or `Blob` of an image, which is not empty. */
  URL: imageSource,
});

/**
 * Registration of an image as an asset (spec, POST /gamma/asset/CreateAsset). The field names are the gateway's own.
 * The spec does not show which fields are required. This type requires all of them.
 */
export type AssetRequest = RequestOf<typeof registration>;

/**
 * Schema of a registration; `URL` may also be a `File` or `Blob`.
 */
export const assetRequest: v.GenericSchema<AssetRequest> = registration;

const rules: Rules = {
  resource: "asset",
  models: assetModels,
  schemas: { "gamma-asset": registration },
};

/**
 * Checks an asset registration, without sending anything.
 *
 * @returns `issues`: reasons why the gateway would reject the request. `warnings`: unknown fields
 */
export function checkAssetRequest(request: unknown): CheckResult {
  return checkByModel(request, rules);
}

/**
 * Checks a request as `createAsset` does, for an add-on that uploads the image before it sends the request. Emits the
 * warnings in development. `checks: false` accepts any request.
 *
 * @throws {ValidationError} if the request breaks a rule
 * @example
 * ```ts
 * const fields = { GroupId: "group-1", Name: "hero", AssetType: "Image", URL: "https://a.example/hero.png" };
 * assertAssetRequest(client, { model: "gamma-asset", ...fields });
 * ```
 */
export function assertAssetRequest(
  client: Pick<Connection, "warn">,
  request: unknown,
  options?: CheckOptions,
): void {
  assertRequest(client, request, rules, options);
}
