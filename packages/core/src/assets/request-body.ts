import type { AssetModel } from "../vocabulary/models.js";

/*
 * The body of a registration, written by hand so that the editor shows its docs. `schema.ts` compares it with its
 * schema.
 */

/**
 * Registration of an image as an asset (spec, POST /gamma/asset/CreateAsset). The field names are the gateway's own.
 * The spec does not show which fields are required. This type requires all of them.
 */
export interface AssetRequest {
  /** The model that the registration is billed under. There is one such model (spec, POST /gamma/asset/CreateAsset). */
  readonly model: AssetModel;
  /**
   * Id of an asset group that exists. The spec shows no way to create one. Not empty (spec, POST
   * /gamma/asset/CreateAsset).
   */
  readonly GroupId: string;
  /** Name of the asset. Not empty (spec, POST /gamma/asset/CreateAsset). */
  readonly Name: string;
  /** Kind of the asset. Images are the only kind (spec, POST /gamma/asset/CreateAsset). */
  readonly AssetType: "Image";
  /**
   * The image: an http(s) URL, a data URI, plain Base64, or a `File` or `Blob` of an image, which is not empty (spec,
   * POST /gamma/asset/CreateAsset).
   */
  readonly URL: string | Blob;
}
