import type { ActiveAsset, Asset, AssetHandle } from "../asset.js";
import type { WatchState } from "../watch.js";
import { isActive } from "./assets.js";

/** What an asset shows, in the words of TanStack Query. */
export interface AssetState
  extends Pick<WatchState<Asset>, "fetchStatus" | "pauseReason" | "nextPollAt" | "failure"> {
  /** `idle`: none; `pending`: on the way; `success`: `uri` may be used; `error`: `error` says why not. */
  readonly status: "idle" | "pending" | "success" | "error";
  /** `reading` the file, `sending` it, or `preparing`: the gateway works on it. */
  readonly phase: "reading" | "sending" | "preparing" | undefined;
  /** From 0 to 1 while a file is read. Undefined elsewhere: no browser tells how far a request has been sent. */
  readonly progress: number | undefined;
  readonly handle: AssetHandle | undefined;
  /** `asset://…`, for a video request: once the asset may be used. */
  readonly uri: AssetHandle["uri"] | undefined;
  /** As last seen. */
  readonly asset: Asset | undefined;
  readonly data: ActiveAsset | undefined;
  readonly error: Error | undefined;
}

/** How far a registration is. */
export interface AssetSending {
  readonly phase: "reading" | "sending";
  readonly progress?: number;
}

/** What an asset shows of what the watch knows and of what the store does. */
export function assetStateOf(
  { snapshot: asset, fetchStatus, pauseReason, nextPollAt, failure }: WatchState<Asset>,
  {
    sending,
    handle,
    error,
  }: Pick<AssetState, "handle" | "error"> & { readonly sending: AssetSending | undefined },
): AssetState {
  const data = asset && isActive(asset) ? asset : undefined;
  const isOnTheWay = sending !== undefined || handle !== undefined;
  const status = data ? "success" : error ? "error" : isOnTheWay ? "pending" : "idle";
  return {
    status,
    phase: sending?.phase ?? (status === "pending" ? "preparing" : undefined),
    progress: sending?.progress,
    handle,
    uri: data?.uri,
    asset,
    data,
    error,
    fetchStatus,
    pauseReason,
    nextPollAt,
    failure,
  };
}
