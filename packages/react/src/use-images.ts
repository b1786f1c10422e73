import type { ImageModel } from "@sluice/core";
import type { ImageState, ImageStore, ImageStoreOptions } from "@sluice/stores";
import type { ImageOptionsFor } from "@sluice/stores/extend";
import { useSyncExternalStore } from "react";
import { getImageView, images } from "./images.js";
import type { SharedStores } from "./shared-stores.js";
import { useSharedStore } from "./use-shared-store.js";

/** Options of `useImages`: the options of an image store, and `id`. All except `id` may change at any time. */
export interface UseImagesOptions<Model extends string = ImageModel> extends ImageStoreOptions<Model> {
  /**
   * Name of shared images: components with the same `id` show the same images, even after a route change.
   * @default none: the images belong to this component
   */
  readonly id?: string | undefined;
}

/** Result of `useImages`: the state of the images and its methods, which keep their identity. */
export interface UseImagesResult<Model extends string = ImageModel>
  extends ImageState<Model>,
    Omit<ImageStore<Model>, "getSnapshot" | "subscribe" | "withOptions"> {}

/**
 * Generates images on request.
 *
 * Rendering and mounting send nothing. A double click sends once. `generate` never rejects: it resolves to the result
 * or the error. Without an `id`, a request aborts one second after its component unmounts, and may be billed. With an
 * `id`, it continues, and its images stay in memory for 15 minutes, for at most 100 ids. A component in a hidden
 * `<Activity>` counts as mounted.
 *
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * function Painter() {
 *   const { generate, data, status, error } = useImages({ model: "gamma-image-5-0-260128" });
 *   const paint = () => void generate({ prompt: "A reef at dawn", size: "2048x2048" });
 *   return (
 *     <>
 *       <button disabled={status === "pending"} onClick={paint}>Paint</button>
 *       {error && <p role="alert">{describeError(error).title}</p>}
 *       {data?.images.map(({ url, error }, at) => <p key={at}>{error ? describeError(error).title : <img src={url} alt="" />}</p>)}
 *     </>
 *   );
 * }
 * ```
 */
export function useImages<Model extends ImageModel | (string & {})>(
  options: ImageOptionsFor<Model, UseImagesOptions<Model>>,
): UseImagesResult<Model> {
  const store = useSharedStore(
    images as unknown as SharedStores<ImageStoreOptions<Model>, ImageStore<Model>>,
    options?.id,
    options,
  );
  const { getSnapshot, subscribe, withOptions, ...methods } = store;
  // during hydration, shows the server's state, even if another part of the page has already started a request
  const state = useSyncExternalStore(subscribe, getSnapshot, () => getImageView(store).first.state);
  return { ...state, ...methods };
}
