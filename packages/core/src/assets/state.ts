import type { TaskState } from "../tasks/task-store.js";
import type { ActiveAsset, Asset, AssetHandle } from "../vocabulary/asset.js";

/** State of one asset, in the terms of TanStack Query. */
export interface AssetState extends TaskState<ActiveAsset, AssetHandle> {
  /**
   * Step of the registration: `reading` the file, `sending` it, or `preparing`, while the gateway works on
   * it.
   */
  readonly phase: "reading" | "sending" | "preparing" | undefined;
  /**
   * Share of the file that was read, from 0 to 1. Undefined in other phases: browsers do not report how much
   * of a request was sent.
   */
  readonly progress: number | undefined;
  /** Address for video requests, `asset://…`; undefined until the asset is active. */
  readonly uri: AssetHandle["uri"] | undefined;
  /** Newest snapshot; undefined before the first poll. */
  readonly asset: Asset | undefined;
}

/** Progress of a registration. */
export interface AssetSending {
  readonly phase: "reading" | "sending";
  readonly progress?: number;
}
