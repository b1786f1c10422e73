import type { ImageModel } from "@sluice/core";
import type { ImageOptionsFor, ImageState, ImageStore, ImageStoreOptions } from "@sluice/stores";
import { useSyncExternalStore } from "react";
import { images, viewOfImages } from "./images.js";
import type { SharedStores } from "./shared-stores.js";
import { useSharedStore } from "./use-shared-store.js";

/** Options of `useImages`: those of an image store, and `id`. All but `id` may change at any time. */
export interface UseImagesOptions<Model extends string = ImageModel> extends ImageStoreOptions<Model> {
  /**
   * Name that components share: those with the same `id` show the same images, also after a route change.
   * @default none: the images belong to this component
   */
  readonly id?: string | undefined;
}

/** Result of `useImages`: the state of the images, and its verbs, which keep their identity. */
export interface UseImagesResult<Model extends string = ImageModel>
  extends ImageState<Model>,
    Omit<ImageStore<Model>, "getSnapshot" | "subscribe" | "withOptions"> {}

/**
 * Generates images on request.
 *
 * Rendering and mounting send nothing, and a double click sends once. `generate` never rejects: it resolves to the
 * result or the error. Without an `id`, a request is aborted one second after its component is unmounted, and may be
 * billed. With an `id` it continues, and its images are kept for 15 min, those of
 * at most 100 ids. A component in a hidden `<Activity>` counts as
 * mounted.
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
  const { getSnapshot, subscribe, withOptions, ...verbs } = store;
  // a page that hydrates shows what its server has rendered, also where another part of it has begun already
  const state = useSyncExternalStore(subscribe, getSnapshot, () => viewOfImages(store).first.state);
  return { ...state, ...verbs };
}
