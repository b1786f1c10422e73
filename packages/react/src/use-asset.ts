"use client";
import { type AssetState, type AssetStore, type AssetStoreOptions, createAssetStore } from "@sluice/core";
import { useSyncExternalStore } from "react";
import { useOwnStore } from "./use-own-store.js";

/** Options of `useAsset`. All but `presence` may change at any time. */
export interface UseAssetOptions extends AssetStoreOptions {
  /** An asset that is there already. */
  readonly assetId?: string | undefined;
}

/** Result of `useAsset`: the asset's state, and functions that never change. */
export interface UseAssetResult
  extends AssetState,
    Omit<AssetStore, "getSnapshot" | "subscribe" | "attach"> {}

/**
 * An image asset, from a file to the `asset://…` that video requests take.
 *
 * Rendering and mounting register nothing, and a double click registers once. Needs a client with `assetLookup`.
 *
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * function Hero() {
 *   const { register, status, phase, uri, error } = useAsset({ groupId: "group-1" });
 *   if (uri) return <code>{uri}</code>;
 *   return (
 *     <label>
 *       {error ? error.message : (phase ?? "Choose an image")}
 *       <input
 *         type="file"
 *         accept="image/*"
 *         disabled={status === "pending"}
 *         onChange={({ target }) => target.files?.[0] && void register(target.files[0])}
 *       />
 *     </label>
 *   );
 * }
 * ```
 */
export function useAsset(options: UseAssetOptions = {}): UseAssetResult {
  const store = useOwnStore<AssetStoreOptions, AssetStore>(options.assetId, options, createAssetStore);
  const state = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  const { register, refetch, reset } = store;
  return { ...state, register, refetch, reset };
}
