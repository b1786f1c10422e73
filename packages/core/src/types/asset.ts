/** Reference to a registered asset. Plain JSON. */
export interface AssetHandle {
  /** Id of the asset at the gateway. */
  readonly id: string;
  /** Address of the asset for `image_url.url` of video requests, once the asset is active. */
  readonly uri: `asset://${string}`;
}

/** Snapshot of an asset. Plain JSON. */
export interface Asset extends AssetHandle {
  /**
   * `active`: requests may use the asset. `failed`: requests can never use it. `pending`: any other status of the
   * gateway.
   */
  readonly state: "active" | "failed" | "pending";
  /** Status as the gateway wrote it. */
  readonly rawStatus: string;
  /** Reason of a failure, if the gateway reports one. */
  readonly reason?: string;
  /**
   * Temporary address of the image, only for display. Video requests need `uri` instead. This field is not a string, so
   * that you cannot send it by mistake.
   */
  readonly temporaryURL?: {
    /** The address. It expires after some time. */
    readonly forDisplayOnly: string;
  };
  /** Response of the lookup, unchanged. */
  readonly raw: unknown;
}

/** An asset that video requests may use. */
export interface ActiveAsset extends Asset {
  /** `active`: video requests may use the asset. */
  readonly state: "active";
}

/**
 * Looks up an asset in this deployment, because the interface shows no endpoint for it. A path gets `{ Id: id }` by
 * POST. A function returns the asset's record with `Status` and `URL`. Its `request` sends a request with the client's
 * address, key, retries and errors: POST with a body, GET without.
 *
 * @example
 * ```ts
 * const client = createClient({
 *   baseURL: "/api",
 *   gateway: { assetLookup: (id, request) => request(`/assets/${id}`) },
 * });
 * ```
 */
export type AssetLookup =
  | `/${string}`
  | ((id: string, request: (path: string, body?: unknown) => Promise<unknown>) => Promise<unknown>);
