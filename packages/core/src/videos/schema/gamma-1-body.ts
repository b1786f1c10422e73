import type { Denied } from "../../base/validate.js";

/*
 * The bodies of `gamma-video-1` requests, written by hand so that the editor shows their docs. `gamma-1.ts` compares
 * them with their schemas.
 */

/** A text item of `content` (spec, Family `gamma-video-1-5-pro-251215`). */
export interface VideoText {
  /** Kind of the item (spec, Family `gamma-video-1-5-pro-251215`). */
  readonly type: "text";
  /** Description of the motion, the scene and the camera (spec, Family `gamma-video-1-5-pro-251215`). */
  readonly text: string;
}

/** An image item of `content`: a frame of the video (spec, Family `gamma-video-1-5-pro-251215`). */
interface VideoFrame<Role extends string> {
  /** Kind of the item (spec, Family `gamma-video-1-5-pro-251215`). */
  readonly type: "image_url";
  /** The image (spec, Family `gamma-video-1-5-pro-251215`). */
  readonly image_url: {
    /**
     * Public http(s) URL. The gateway downloads it, so no data URI and no address of a private network (spec, Family
     * `gamma-video-1-5-pro-251215`).
     */
    readonly url: string;
  };
  /** Place of the image in the video. At most one of each (spec, Family `gamma-video-1-5-pro-251215`). */
  readonly role: Role;
}

/** Frame of a `gamma-video-1-5-pro-251215` video. */
export interface ProFrame extends VideoFrame<"first_frame" | "last_frame"> {}
/** Frame of a `gamma-video-1-0-pro-fast-251015` video, which has a first frame only. */
export interface FastFrame extends VideoFrame<"first_frame"> {}

interface Gamma1Fields {
  /** Marks the video with a watermark (spec, Family `gamma-video-1-5-pro-251215`). @default false */
  readonly watermark?: boolean | undefined;
  /**
   * Whole number from -1 to 4,294,967,295; the same request with the same seed gives a similar video (spec, Family
   * `gamma-video-1-5-pro-251215`).
   */
  readonly seed?: number | undefined;
  /** Not for this model: a field of the beta models. Use `content` (spec, Family `gamma-video-1-5-pro-251215`). */
  readonly input?: undefined;
  /**
   * Not for this model: a field of the beta models. Here parameters are top-level fields (spec, Family
   * `gamma-video-1-5-pro-251215`).
   */
  readonly parameters?: undefined;
  /** Not for this model: a field of `gamma-video-2.0` (spec, Family `gamma-video-1-5-pro-251215`). */
  readonly return_last_frame?:
    | Denied<"is for gamma-video-2.0 only; leave it out, or use that model">
    | undefined;
}

interface TextToVideo {
  /**
   * Content of the video: exactly one text item. For image to video, images as well (spec, Family
   * `gamma-video-1-5-pro-251215`).
   */
  readonly content: readonly [VideoText];
  /** Keeps the camera still. For text to video only (spec, Family `gamma-video-1-5-pro-251215`). @default false */
  readonly camera_fixed?: boolean | undefined;
}

interface NoFixedCamera {
  /**
   * Not with images in `content`: the camera is fixed in text to video only (spec, Family
   * `gamma-video-1-5-pro-251215`).
   */
  readonly camera_fixed?: undefined;
}

interface ProFields extends Gamma1Fields {
  /** The model that makes the video. It decides the other fields (spec, Family `gamma-video-1-5-pro-251215`). */
  readonly model: "gamma-video-1-5-pro-251215";
  /**
   * Width to height. `"adaptive"` takes it from the image and the text (spec, Family `gamma-video-1-5-pro-251215`).
   *
   * @default "adaptive"
   */
  readonly ratio?: "adaptive" | "16:9" | "4:3" | "1:1" | "3:4" | "9:16" | "21:9" | undefined;
  /**
   * Gives the video a sound track that fits the picture. The spec describes it for text to video (spec, Family
   * `gamma-video-1-5-pro-251215`).
   *
   * @default false
   */
  readonly generate_audio?: boolean | undefined;
  /**
   * Height of the video. Written with a small p, unlike beta models (spec, Family `gamma-video-1-5-pro-251215`).
   *
   * @default "720p"
   */
  readonly resolution?: "480p" | "720p" | "1080p" | undefined;
  /**
   * Length in seconds. Whole number from 4 to 12, or -1: the model chooses (spec, Family
   * `gamma-video-1-5-pro-251215`).
   *
   * @default 5
   */
  readonly duration?: number | undefined;
}

/** Text to video by `gamma-video-1-5-pro-251215` (spec, Family `gamma-video-1-5-pro-251215`). */
export interface ProTextRequest extends ProFields, TextToVideo {}

/** Image to video by `gamma-video-1-5-pro-251215` (spec, Family `gamma-video-1-5-pro-251215`). */
export interface ProImageRequest extends ProFields, NoFixedCamera {
  /**
   * Content of the video: one text item, and a first frame, a last frame or both (spec, Family
   * `gamma-video-1-5-pro-251215`).
   */
  readonly content: readonly (VideoText | ProFrame)[];
}

interface FastFields extends Gamma1Fields {
  /** The model that makes the video. It decides the other fields (spec, Family `gamma-video-1-0-pro-fast-251015`). */
  readonly model: "gamma-video-1-0-pro-fast-251015";
  /**
   * Height of the video. Written with a small p, unlike beta models (spec, Family `gamma-video-1-0-pro-fast-251015`).
   *
   * @default "1080p"
   */
  readonly resolution?: "480p" | "720p" | "1080p" | undefined;
  /** Length in seconds. Whole number from 2 to 12 (spec, Family `gamma-video-1-0-pro-fast-251015`). @default 5 */
  readonly duration?: number | undefined;
  /** Not for this model, whose videos are silent (spec, Family `gamma-video-1-0-pro-fast-251015`). */
  readonly generate_audio?:
    | Denied<"is not for this model, whose videos are silent; leave it out">
    | undefined;
}

/** Text to video by `gamma-video-1-0-pro-fast-251015` (spec, Family `gamma-video-1-0-pro-fast-251015`). */
export interface FastTextRequest extends FastFields, TextToVideo {
  /**
   * Width to height. `"adaptive"` is not possible in text to video (spec, Family `gamma-video-1-0-pro-fast-251015`).
   *
   * @default "16:9"
   */
  readonly ratio?: "16:9" | "4:3" | "1:1" | "3:4" | "9:16" | "21:9" | undefined;
}

/** Image to video by `gamma-video-1-0-pro-fast-251015` (spec, Family `gamma-video-1-0-pro-fast-251015`). */
export interface FastImageRequest extends FastFields, NoFixedCamera {
  /**
   * Content of the video: one text item and one image, the first frame (spec, Family
   * `gamma-video-1-0-pro-fast-251015`).
   */
  readonly content: readonly (VideoText | FastFrame)[];
  /**
   * Width to height. `"adaptive"` takes it from the image (spec, Family `gamma-video-1-0-pro-fast-251015`).
   *
   * @default "adaptive"
   */
  readonly ratio?: "adaptive" | "16:9" | "4:3" | "1:1" | "3:4" | "9:16" | "21:9" | undefined;
}

/** Body of a request to `gamma-video-1-5-pro-251215`: text to video, or image to video. */
export type GammaVideo15ProRequest = ProTextRequest | ProImageRequest;
/** Body of a request to `gamma-video-1-0-pro-fast-251015`: text to video, or image to video. */
export type GammaVideo10ProFastRequest = FastTextRequest | FastImageRequest;
