/** A registered asset, as video requests name it. Plain JSON. */
export interface AssetHandle {
  readonly id: string;
  /** `asset://<id>`: what `image_url.url` of a video request takes once the asset is active. */
  readonly uri: `asset://${string}`;
}

/** One look at an asset; plain JSON. */
export interface Asset extends AssetHandle {
  /** `active`: may be used. `failed`: never will be. `pending`: neither yet, whatever the gateway calls it. */
  readonly state: "active" | "failed" | "pending";
  /** The gateway's own word for `state`. */
  readonly rawStatus: string;
  /**
   * Temporary address of the image. Not a string on purpose: requests must name the asset by its `uri`,
   * never by this, and refuse it.
   */
  readonly temporaryURL?: { readonly forDisplayOnly: string };
  /** The lookup's answer as it came. */
  readonly raw: unknown;
}

/** An asset that video requests may use. */
export interface ActiveAsset extends Asset {
  readonly state: "active";
}

/**
 * Looks an asset up in this deployment: the spec shows no endpoint for it. Gives the asset's record, with `Status` and
 * `URL`. `request` sends with the client's address, key, retries and errors: POST with a body, GET without.
 *
 * @example
 * ```ts
 * const assetLookup: AssetLookup = (id, request) => request("/gamma/asset/GetAsset", { Id: id });
 * ```
 */
export type AssetLookup = (
  id: string,
  request: (path: string, body?: unknown) => Promise<unknown>,
) => Promise<unknown>;
