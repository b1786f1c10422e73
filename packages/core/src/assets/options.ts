import type { Presence } from "../tabs/page-activity.js";
import type { ActiveAsset, AssetHandle } from "../vocabulary/asset.js";
import type { CreateAssetOptions } from "./create.js";
import type { AssetState } from "./state.js";
import type { AssetWatchOptions } from "./watch.js";

/** Options of an asset store; all but `presence` are read at each use. */
export interface AssetStoreOptions {
  /** Id of the asset group that images are registered in: `GroupId` of the request. */
  readonly groupId?: string | undefined;
  /** Changes a file before it is sent: `async (file) => (await fitImage(file, "first_frame")).blob`. */
  readonly prepare?: ((file: Blob, signal: AbortSignal) => Blob | Promise<Blob>) | undefined;
  /**
   * Behaviour of a `create` while an asset is in flight; it never sends. `join`: the promise resolves to the state of
   * the asset in flight. `reject`: it resolves to a state with a `ConfigurationError`, and the store does not change.
   *
   * @default "join"
   */
  readonly whenBusy?: "join" | "reject" | undefined;
  /** Headers, timeouts, retry and form of upload of the create request. */
  readonly request?: CreateAssetOptions | undefined;
  /**
   * Milliseconds from an answer to the next poll, or a function of the asset. It grows where a page polls more than
   * 20 assets and tasks, so that all together are polled ten times in a second at most.
   *
   * @default 3_000
   */
  readonly intervalMs?: AssetWatchOptions["intervalMs"];
  /** Polls while the page is hidden, too. @default false */
  readonly pollInBackground?: boolean | undefined;
  /**
   * Visibility and connection of the page; polling pauses while it is hidden or offline. @default the page's
   * own
   */
  readonly presence?: Presence | undefined;
  /**
   * Called with the handle of an asset as soon as the gateway has registered it, even if the store was reset
   * in the meantime.
   */
  readonly onCreate?: ((handle: AssetHandle) => void) | undefined;
  /**
   * Called once when the asset becomes active, with the state that shows it. If several stores with this option watch the asset, only one
   * of them calls it.
   */
  readonly onSuccess?: ((data: ActiveAsset, state: AssetState) => void) | undefined;
  /**
   * Called once when the asset fails, and when a `create` fails, with the state of the store. It is also called for a
   * request that had been sent before a `reset`. The state does not show that request. The `outcome` of the error shows
   * if the asset may exist.
   */
  readonly onError?: ((error: Error, state: AssetState) => void) | undefined;
}

/** Options of `create`. */
export interface AssetCreateOptions {
  /** Name of the asset. @default the name of the file, or the last part of the URL */
  readonly name?: string | undefined;
  /** Id of the asset group. @default `groupId` of the store */
  readonly groupId?: string | undefined;
}
