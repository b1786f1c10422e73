import type { Store } from "@sluice/core";
import { useSyncExternalStore } from "react";

/**
 * Shows a store, such as an upload or your own store. The component rerenders after each change.
 *
 * @param store the store; keep it outside the component or in its state
 * @param select returns the part to show, so that other changes do not rerender. It must return the same object until
 *   something in it changes. Default: the whole state
 * @example
 * ```tsx
 * function Upload({ client, file }: { client: Client; file: File }) {
 *   const [upload] = useState(() => createUploadStore(client, { use: "reference_video" }));
 *   const { progress, data } = useStore(upload);
 *   if (data) return <video src={data.url} controls />;
 *   return <button onClick={() => void upload.upload(file)}>Upload ({progress ?? 0})</button>;
 * }
 * ```
 */
export function useStore<State>(store: Store<State>): State;
export function useStore<State, Part>(store: Store<State>, select: (state: State) => Part): Part;
export function useStore<State>(store: Store<State>, select = (state: State): unknown => state): unknown {
  const read = () => select(store.getSnapshot());
  return useSyncExternalStore(store.subscribe, read, read);
}
