import type { ActiveAsset, AssetHandle } from "../asset.js";
import type { Presence } from "../tabs/page-activity.js";
import type { CreateAssetOptions } from "./create.js";

/** Options of an asset store; all but `presence` are read at each use. */
export interface AssetStoreOptions {
  /** Id of the asset group that images are registered in: `GroupId` of the request. */
  readonly groupId?: string | undefined;
  /** Changes a file before it is sent: `async (file) => (await fitImage(file, "first_frame")).blob`. */
  readonly prepare?: ((file: Blob, signal: AbortSignal) => Blob | Promise<Blob>) | undefined;
  /** Headers, timeouts, retry and the way of upload of the create request. */
  readonly request?: CreateAssetOptions | undefined;
  /** Milliseconds from an answer to the next poll. @default 3_000 */
  readonly refetchInterval?: number | undefined;
  /** Polls while the page is hidden, too. @default false */
  readonly refetchIntervalInBackground?: boolean | undefined;
  /**
   * Visibility and connection of the page; polling pauses while it is hidden or offline. @default the page's
   * own
   */
  readonly presence?: Presence | undefined;
  /**
   * Called with an asset's handle as soon as the gateway has given it, also if the store was reset meanwhile: the asset
   * is registered, and may be billed, whoever still wants it.
   */
  readonly onRegister?: ((handle: AssetHandle) => void) | undefined;
  /** Called when an asset may be used, once, for one of the stores that watch it and have this. */
  readonly onSuccess?: ((asset: ActiveAsset) => void) | undefined;
  /**
   * Called when it turns out that it can't, once as well, and for a `register` that failed; also, if the store was
   * reset meanwhile, for one that had been sent: its `outcome` says whether the asset may exist.
   */
  readonly onError?: ((error: Error) => void) | undefined;
}

/** Options of `register`. */
export interface RegisterOptions {
  /** Name of the asset. @default the name of the file, or the last part of the URL */
  readonly name?: string | undefined;
  /** Id of the asset group. @default `groupId` of the store */
  readonly groupId?: string | undefined;
}
