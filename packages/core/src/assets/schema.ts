import * as v from "valibot";
import { checkByModel, type Findings, notEmpty, type Same } from "../base/validate.js";
import { isBase64, isHTTP, isImageDataURI } from "../base/web-address.js";
import { assetModels } from "../vocabulary/models.js";
import type { AssetRequest } from "./request-body.js";

const required = v.pipe(v.string(), notEmpty());

const imageFile = v.pipe(
  v.blob(),
  v.check(({ size }) => size > 0, "must not be an empty file"),
  v.check(
    ({ type }) => type === "" || type.startsWith("image/"),
    "must be an image: only images can be registered",
  ),
);
const imageText = v.pipe(
  required,
  v.check(
    (url) => url === "" || isHTTP(url) || isImageDataURI(url) || isBase64(url),
    "must be an http(s) URL, a data URI of an image, Base64, or a File or Blob",
  ),
);
const imageSource: v.GenericSchema<string | Blob> = v.lazy((input) =>
  input instanceof Blob ? imageFile : imageText,
);

const registration = v.object({
  model: v.literal("gamma-asset"),
  GroupId: required,
  Name: required,
  AssetType: v.picklist(assetModels["gamma-asset"].types),
  URL: imageSource,
});

/** Schema of a registration; `URL` may also be a `File` or `Blob`. */
export const assetRequest: v.GenericSchema<AssetRequest> = registration;

/** Compares the declared request with its schema, both ways: a field that one of them lacks does not compile. */
type _Declared = Same<AssetRequest, typeof registration>;

/**
 * Checks an asset registration, without sending anything.
 *
 * @returns `issues`, for which the gateway would refuse the request, and `warnings` about unknown fields
 * @example
 * ```ts
 * const { issues } = checkAssetRequest({ model: "gamma-asset", GroupId: "g-1", Name: "hero", AssetType: "Image", URL: "" });
 * // issues[0] = { path: "URL", message: "must not be empty", rule: "asset.url" }
 * ```
 */
export function checkAssetRequest(request: unknown): Findings {
  return checkByModel(request, "asset", assetModels, { "gamma-asset": registration }, () => {});
}
