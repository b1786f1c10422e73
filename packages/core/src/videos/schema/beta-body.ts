import type { Denied } from "../../base/validate.js";

/*
 * The body of a `beta` video request, written by hand so that the editor shows its docs. `beta.ts` compares it with its
 * schema.
 */

/** An image that is the first or the last frame of the video (spec, Family `beta`). */
export interface BetaFrame {
  /**
   * Place of the image in the video. At most one of each; a `last_frame` needs a `first_frame` (spec, Family `beta`).
   */
  readonly type: "first_frame" | "last_frame";
  /** http(s) URL, or Base64 data URI of a JPEG, PNG, BMP or WEBP image; at most 20 MB (spec, Family `beta`). */
  readonly url: string;
}

/** An image from which the video takes its subject or style (spec, Family `beta`). At most 10. */
export interface BetaReferenceImage {
  /** Kind of the reference. At most 10 images (spec, Family `beta`). */
  readonly type: "reference_image";
  /** http(s) URL, or Base64 data URI of a JPEG, PNG, BMP or WEBP image; at most 20 MB (spec, Family `beta`). */
  readonly url: string;
}

/** A video, audio, file or web page that the video uses as a reference (spec, Family `beta`). */
export interface BetaPublicReference {
  /**
   * Kind of the reference. At most 5 videos and 5 audios of 15 seconds in total each; one `file` or one `link`, not
   * both (spec, Family `beta`).
   */
  readonly type: "reference_video" | "reference_audio" | "file" | "link";
  /**
   * Public http(s) URL. The gateway downloads it, so no data URI and no address of a private network (spec, Family
   * `beta`).
   */
  readonly url: string;
}

/** Frames, or references: no list has both (spec, Family `beta`). */
type BetaMedia = readonly BetaFrame[] | readonly (BetaReferenceImage | BetaPublicReference)[];

interface BetaPromptInput {
  /**
   * Description of the video, in Chinese or English. At most 5,000 characters. Write references by kind and order:
   * `Image 1`, `Video 1`, `Audio 1`. Required without `media` (spec, Family `beta`).
   */
  readonly prompt: string;
  /** Frames, or references. Their types decide the mode. Leave it out for text to video (spec, Family `beta`). */
  readonly media?: BetaMedia | undefined;
}

interface BetaMediaInput {
  /**
   * Description of the video, in Chinese or English. At most 5,000 characters. Write references by kind and order:
   * `Image 1`, `Video 1`, `Audio 1` (spec, Family `beta`).
   */
  readonly prompt?: string | undefined;
  /** Frames, or references. Their types decide the mode. Required without `prompt` (spec, Family `beta`). */
  readonly media: BetaMedia;
}

/** Parameters of a `beta` video (spec, Family `beta`). */
export interface BetaVideoParameters {
  /** Height of the video. Written with a capital P, unlike gamma models (spec, Family `beta`). @default "1080P" */
  readonly resolution?: "1080P" | "720P" | "480P" | undefined;
  /**
   * Width to height. `"adaptive"` takes it from the images and the prompt (spec, Family `beta`).
   *
   * @default "adaptive"
   */
  readonly ratio?: "adaptive" | "16:9" | "4:3" | "1:1" | "3:4" | "9:16" | undefined;
  /**
   * Length in seconds. Whole number from 2 to 30, or -1: the model chooses. With reference videos, their length and
   * this one are at most 30 seconds together (spec, Family `beta`).
   *
   * @default 5
   */
  readonly duration?: number | undefined;
  /** Gives the video a sound track. The price is the same (spec, Family `beta`). @default true */
  readonly audio?: boolean | undefined;
  /** Lets the gateway expand the prompt with details (spec, Family `beta`). @default true */
  readonly prompt_extend?: boolean | undefined;
  /**
   * Whole number from 0 to 2,147,483,647; the same request with the same seed gives a similar video (spec, Family
   * `beta`).
   */
  readonly seed?: number | undefined;
  /** Marks the video with a watermark (spec, Family `beta`). @default false */
  readonly watermark?: boolean | undefined;
}

/** Fields of the gamma models, which the type refuses here. */
interface NotForBeta {
  /** Not for this model: a field of the gamma models. Use `input` (spec, Family `beta`). */
  readonly content?: undefined;
  /** Belongs in `parameters` for this model (spec, Family `beta`). */
  readonly resolution?: Denied<"belongs in `parameters`"> | undefined;
  /** Belongs in `parameters` for this model (spec, Family `beta`). */
  readonly ratio?: Denied<"belongs in `parameters`"> | undefined;
  /** Belongs in `parameters` for this model (spec, Family `beta`). */
  readonly duration?: Denied<"belongs in `parameters`"> | undefined;
  /** Belongs in `parameters` for this model (spec, Family `beta`). */
  readonly seed?: Denied<"belongs in `parameters`"> | undefined;
  /** Belongs in `parameters` for this model (spec, Family `beta`). */
  readonly watermark?: Denied<"belongs in `parameters`"> | undefined;
  /** Not for this model: a field of `gamma-video-2.0` (spec, Family `beta`). */
  readonly return_last_frame?:
    | Denied<"is for gamma-video-2.0 only; leave it out, or use that model">
    | undefined;
}

/**
 * Body of a request to `beta3.0-video` or `beta3.0-video-prime` (spec, Family `beta`). The types of `input.media` decide
 * the mode: text to video, first frame, first and last frame, references, a file, or a web page.
 */
export interface BetaVideoRequest extends NotForBeta {
  /** The model that makes the video. Both accept the same fields (spec, Family `beta`). */
  readonly model: "beta3.0-video" | "beta3.0-video-prime";
  /** Content of the video: a prompt, media, or both (spec, Family `beta`). */
  readonly input: BetaPromptInput | BetaMediaInput;
  /** Size, length and other settings (spec, Family `beta`). */
  readonly parameters?: BetaVideoParameters | undefined;
}
