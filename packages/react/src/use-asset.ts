import { type AssetState, type AssetStore, type AssetStoreOptions, createAssetStore } from "@sluice/stores";
import { useTask } from "./use-task.js";

/** Options of `useAsset`. All but `presence` may change at any time. */
export interface UseAssetOptions extends AssetStoreOptions {
  /** Id of an existing asset. @default none */
  readonly assetId?: string | undefined;
}

/** Result of `useAsset`: the state of the asset and its methods, which keep their identity. */
export interface UseAssetResult
  extends AssetState,
    Omit<AssetStore, "getSnapshot" | "subscribe" | "attach"> {}

/**
 * Registers an image as an asset and shows its progress until `data.uri` (`asset://…`) is ready for video requests.
 *
 * Rendering and mounting register nothing. A double click registers once. The client needs `gateway: { assetLookup }`.
 *
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * function Hero() {
 *   const { create, status, phase, data, error } = useAsset({ groupId: "group-1" });
 *   if (data) return <code>{data.uri}</code>;
 *   return (
 *     <label>
 *       {error ? describeError(error).title : (phase ?? "Choose an image")}
 *       <input
 *         type="file"
 *         accept="image/*"
 *         disabled={status === "pending"}
 *         onChange={({ target }) => target.files?.[0] && void create(target.files[0])}
 *       />
 *     </label>
 *   );
 * }
 * ```
 */
export function useAsset(options: UseAssetOptions = {}): UseAssetResult {
  return useTask<AssetStoreOptions, AssetStore>(options.assetId, options, createAssetStore);
}
