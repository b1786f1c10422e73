import type { Billing, GeneratedImage, ImageModel, ImageRequest, ImageResult } from "@sluice/core";

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

/** An image of a sequence that failed. */
export type FailedImage = Exclude<ImageResult["images"][number], GeneratedImage>;

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
