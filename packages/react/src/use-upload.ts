import {
  createUploadStore,
  type UploadState,
  type UploadStore,
  type UploadStoreOptions,
} from "@sluice/core/media";
import { useEffect, useSyncExternalStore } from "react";
import { useClient } from "./provider.js";
import { useLatest } from "./use-latest.js";

/** Options of `useUpload`. They may change at any time. */
export type UseUploadOptions = UploadStoreOptions;

/** Result of `useUpload`: the state of the upload, and its verbs, which keep their identity. */
export interface UseUploadResult extends UploadState, Omit<UploadStore, "getSnapshot" | "subscribe"> {}

/**
 * Uploads a file and shows its progress, in the terms of TanStack Query. Rendering uploads nothing. The upload is stopped
 * when the component is unmounted; the next upload of the same file goes on where it stood.
 *
 * `useVideoTask` and `useImages` take files themselves. This hook is for an upload that begins before the request.
 *
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * function Reference() {
 *   const { status, progress, data, error, upload } = useUpload({ use: "reference_video" });
 *   if (data) return <video src={data.url} controls />;
 *   if (status === "pending") return <progress value={progress} />;
 *   return (
 *     <label>
 *       {error ? describeError(error).title : "A film"}
 *       <input type="file" onChange={({ target }) => target.files?.[0] && upload(target.files[0])} />
 *     </label>
 *   );
 * }
 * ```
 */
export function useUpload(options: UseUploadOptions = {}): UseUploadResult {
  const client = useClient();
  const store = useLatest(options, createUploadStore).storeOf(client);
  const state = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  useEffect(() => store.stop, [store]);
  const { upload, stop, reset } = store;
  return { ...state, upload, stop, reset };
}
