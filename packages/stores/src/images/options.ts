import type { ImageModel, ImageResult } from "@sluice/core";
import type { StoreRequestOptions } from "../base/request-options.js";
import type { ImageRequestOf, SettledImages } from "./state.js";

/** Options of an image store; all of them are read at each use. */
export interface ImageStoreOptions<Model extends string = ImageModel> extends StoreRequestOptions {
  /** Default model of the requests. Each model has its own sizes. */
  readonly model: Model;
  /**
   * Default fields of each request to `model`, e.g. a size or a watermark.
   */
  readonly params?: Without<"model" | "prompt", ImageRequestOf<Model>> | undefined;
  /**
   * Behavior of a request while another is in flight. `reject`: it is not sent, so that a double click pays once.
   * `replace`: the request in flight is aborted, and may be billed.
   *
   * @default "reject"
   */
  readonly whenBusy?: "reject" | "replace" | undefined;
  /** Called each time `status` becomes `success`. */
  readonly onSuccess?: ((data: ImageResult, settled: SettledImages<Model>) => void) | undefined;
  /** Called each time `status` becomes `error`, including after `stop`. */
  readonly onError?: ((error: Error, settled: SettledImages<Model>) => void) | undefined;
}

/** Options of an image store by the type of its `model`. An unknown model needs `checks: false`. */
export type ImageOptionsFor<Model extends string, Options = ImageStoreOptions<Model>> = [Model] extends [
  ImageModel,
]
  ? Options
  : Options & { readonly checks: false };

/** A request with an optional `model`. */
export type RequestWithoutModel<Request> = Request extends { readonly model: infer Model }
  ? Omit<Request, "model"> & {
      /** Model of the images. @default `model` of the store */
      readonly model?: Model | undefined;
    }
  : never;
type Without<Field extends string, Request> = Request extends unknown ? Omit<Request, Field> : never;
