import type { ImageModel, ImageResult } from "@sluice/core";
import type { StoreRequestOptions } from "../request-options.js";
import type { ImageRequestOf, SettledImages } from "./state.js";

/** Options of an image store; all of them are read at each use. */
export interface ImageStoreOptions<Model extends string = ImageModel> extends StoreRequestOptions {
  /** Model of each request that does not name one. Each model has its own sizes. */
  readonly model: Model;
  /**
   * Fields that are added to each request to `model`, unless the request has its own: a size, a watermark.
   */
  readonly params?: Without<"model" | "prompt", ImageRequestOf<Model>> | undefined;
  /**
   * Behaviour of a request while another is in flight. `reject`: it is not sent, so that a double click pays
   * once. `replace`: the request in flight is aborted, and may be billed.
   *
   * @default "reject"
   */
  readonly whenBusy?: "reject" | "replace" | undefined;
  /** Called each time that `status` becomes `success`. */
  readonly onSuccess?: ((data: ImageResult, settled: SettledImages<Model>) => void) | undefined;
  /** Called each time that `status` becomes `error`, also after `stop`. */
  readonly onError?: ((error: Error, settled: SettledImages<Model>) => void) | undefined;
}

/** Options of an image store by the type of its `model`: one that is not listed needs `checks: false`. */
export type ImageOptionsFor<Model extends string, Options = ImageStoreOptions<Model>> = [Model] extends [
  ImageModel,
]
  ? Options
  : Options & { readonly checks: false };

/** A request without `model`, which the store adds. */
export type RequestWithoutModel<Request> = Request extends { readonly model: infer Model }
  ? Omit<Request, "model"> & {
      /** The model that makes the images. @default `model` of the store */
      readonly model?: Model | undefined;
    }
  : never;
type Without<Field extends string, Request> = Request extends unknown ? Omit<Request, Field> : never;
