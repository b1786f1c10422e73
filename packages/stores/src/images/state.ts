import type { Billing, ImageModel, ImageRequest, ImageResult } from "@sluice/core";
import type { StoreRequestOptions } from "../base/request-options.js";

/** A request with `checks: false`: it may have any model and fields. */
export interface AnyRequest {
  /** Id of the model. */
  readonly model: string;
  /** A field of the model. */
  readonly [field: string]: unknown;
}

/** Request of a model. An unknown model accepts any fields. */
export type ImageRequestOf<Model extends string> = Model extends ImageModel
  ? Extract<ImageRequest, { readonly model: Model }>
  : AnyRequest;

/** Result of a request for images. */
export type SettledImages<Model extends string = ImageModel> =
  | {
      /** A response arrived. Single images may still have failed: see the `error` of each. */
      readonly status: "success";
      /** The images. */
      readonly data: ImageResult;
      /** Absent after a success. */
      readonly error?: undefined;
      /** The request, with `model` and `params`. */
      readonly variables: ImageRequestOf<Model>;
    }
  | {
      /** The request failed or was stopped. */
      readonly status: "error";
      /** Absent after an error. */
      readonly data?: undefined;
      /**
       * Error of this library, or an `AbortError` for a stopped request. Its `billing` tells whether the request may be
       * billed.
       */
      readonly error: Error & { readonly billing?: Billing };
      /** The request, with `model` and `params`. */
      readonly variables: ImageRequestOf<Model>;
    };

/** State of an image store, in the terms of TanStack Query. */
export interface ImageState<Model extends string = ImageModel> {
  /** `success`: a response arrived. `error`: the request failed or was stopped. */
  readonly status: "idle" | "pending" | "success" | "error";
  /** Last result. It stays while the next request is in flight, and if that request fails. */
  readonly data: ImageResult | undefined;
  /** Number of images in `data` that failed. */
  readonly failedCount: number;
  /**
   * Error of the last request: an error of this library, or an `AbortError` for a stopped request. Its `billing` tells
   * whether the request may be billed.
   */
  readonly error: (Error & { readonly billing?: Billing }) | undefined;
  /**
   * Last request, with `model`, `params` and its files. `generate(variables)` sends it again.
   */
  readonly variables: ImageRequestOf<Model> | undefined;
  /** Share of the request's files that is uploaded, from 0 to 1; undefined while no upload is in flight. */
  readonly uploadProgress: number | undefined;
  /** Time of the last request; Unix milliseconds. */
  readonly submittedAt: number | undefined;
}

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
