/*
 * The bodies of image requests, written by hand so that the editor shows their docs. `schema.ts` compares them with
 * their schemas.
 */

import type { ImageModel } from "../vocabulary/models.js";

/** A logo on each image (spec, POST /v1/images/generations). The spec does not explain the numbers. */
export interface LogoInfo {
  /** Draws the logo. The spec shows no default (spec, POST /v1/images/generations). */
  readonly add_logo?: boolean | undefined;
  /** Place of the logo, as a whole number. The spec shows no list of places (spec, POST /v1/images/generations). */
  readonly position?: number | undefined;
  /**
   * Language of the logo's text, as a whole number. The spec shows no list of languages (spec, POST
   * /v1/images/generations).
   */
  readonly language?: number | undefined;
  /** Opacity of the logo. From 0, invisible, to 1 (spec, POST /v1/images/generations). */
  readonly opacity?: number | undefined;
}

/** The fields that both image models have (spec, POST /v1/images/generations). */
interface ImageFields {
  /** Description of the image, or of the change to the reference images (spec, POST /v1/images/generations). */
  readonly prompt: string;
  /**
   * Reference images for image to image: http(s) URLs that the gateway can download within 10 seconds each, or Base64
   * data URIs. Leave it out for text to image (spec, POST /v1/images/generations).
   */
  readonly image?: readonly string[] | undefined;
  /**
   * `"auto"` allows the model to make a sequence of several images. Without it the answer has one image (spec, POST
   * /v1/images/generations).
   */
  readonly sequential_image_generation?: "auto" | undefined;
  /** Options of a sequence. They need `sequential_image_generation: "auto"` (spec, POST /v1/images/generations). */
  readonly sequential_image_generation_options?:
    | {
        /**
         * Most images of the sequence. Whole number from 1. The spec shows no upper limit and no default (spec, POST
         * /v1/images/generations).
         */
        readonly max_images?: number | undefined;
      }
    | undefined;
  /** Marks each image with a watermark (spec, POST /v1/images/generations). @default false */
  readonly watermark?: boolean | undefined;
  /**
   * Whole number; the same request with the same seed gives similar images. The spec shows no range (spec, POST
   * /v1/images/generations).
   */
  readonly seed?: number | undefined;
  /** A logo on each image (spec, POST /v1/images/generations). */
  readonly logo_info?: LogoInfo | undefined;
}

/** Body of a request to `gamma-image-4-0-250828` (spec, POST /v1/images/generations). */
export interface GammaImage40Request extends ImageFields {
  /** The model. It decides the possible sizes (spec, POST /v1/images/generations). */
  readonly model: "gamma-image-4-0-250828";
  /**
   * Width and height of each image, in pixels: one of 24 sizes. The spec shows no default (spec, POST
   * /v1/images/generations).
   */
  // biome-ignore format: a list of sizes is read as a block
  readonly size?:
    | "1024x1024" | "864x1152" | "1152x864" | "1312x736" | "736x1312" | "832x1248" | "1248x832"
    | "1568x672" | "2048x2048" | "1728x2304" | "2304x1728" | "2848x1600" | "1600x2848" | "2496x1664"
    | "1664x2496" | "3136x1344" | "4096x4096" | "3520x4704" | "4704x3520" | "5504x3040" | "3040x5504"
    | "3328x4992" | "4992x3328" | "6240x2656"
    | undefined;
}

/** Body of a request to `gamma-image-5-0-260128` (spec, POST /v1/images/generations). */
export interface GammaImage50Request extends ImageFields {
  /** The model. It decides the possible sizes (spec, POST /v1/images/generations). */
  readonly model: "gamma-image-5-0-260128";
  /**
   * Width and height of each image, in pixels: one of 16 sizes. The spec shows no default (spec, POST
   * /v1/images/generations).
   */
  // biome-ignore format: a list of sizes is read as a block
  readonly size?:
    | "2048x2048" | "1728x2304" | "2304x1728" | "2848x1600" | "1600x2848" | "2496x1664" | "1664x2496"
    | "3136x1344" | "3072x3072" | "2592x3456" | "3456x2592" | "4096x2304" | "2304x4096" | "2496x3744"
    | "3744x2496" | "4704x2016"
    | undefined;
}

/** The request of each image model. */
export interface ImageRequests {
  /** Request to `gamma-image-4-0-250828` (spec, POST /v1/images/generations). */
  readonly "gamma-image-4-0-250828": GammaImage40Request;
  /** Request to `gamma-image-5-0-260128` (spec, POST /v1/images/generations). */
  readonly "gamma-image-5-0-260128": GammaImage50Request;
}

/** Request of `generateImages`, discriminated by `model`; the gateway's own field names. */
export type ImageRequest = ImageRequests[ImageModel];
