import type { ActiveAsset, Asset, AssetHandle } from "../asset.js";
import type { TaskState } from "../polling/task-store.js";

/** The state of one asset, in the words of TanStack Query. */
export interface AssetState extends TaskState<ActiveAsset, AssetHandle> {
  /** `reading` the file, `sending` it, or `preparing`: the gateway works on it. */
  readonly phase: "reading" | "sending" | "preparing" | undefined;
  /** From 0 to 1 while a file is read. Undefined elsewhere: no browser tells how far a request has been sent. */
  readonly progress: number | undefined;
  /** `asset://…`, for a video request: once the asset may be used. */
  readonly uri: AssetHandle["uri"] | undefined;
  /** The newest snapshot. */
  readonly asset: Asset | undefined;
}

/** Progress of a registration. */
export interface AssetSending {
  readonly phase: "reading" | "sending";
  readonly progress?: number;
}
