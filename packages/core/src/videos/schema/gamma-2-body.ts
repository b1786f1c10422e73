import type { Denied } from "../../base/validate.js";
import type { VideoText } from "./gamma-1-body.js";

/*
 * The bodies of `gamma-video-2.0` and `-fast` requests, written by hand so that the editor shows their docs.
 * `gamma-2.ts` compares them with their schemas.
 */

/** An image item of `content` (spec, Family `gamma-video-2.0` and `gamma-video-fast`). */
export interface Gamma2Image {
  /** Kind of the item (spec, Family `gamma-video-2.0`). */
  readonly type: "image_url";
  /** The image (spec, Family `gamma-video-2.0`). */
  readonly image_url: {
    /**
     * http(s) URL, Base64 data URI of an image, or `asset://<id>`: the `uri` of a registered asset (spec, Family
     * `gamma-video-2.0`).
     */
    readonly url: string;
  };
  /**
   * Use of the image: `first_frame`, `last_frame` or `reference_image`. The spec shows no list; other values are sent
   * with a warning (spec, Family `gamma-video-2.0`).
   */
  readonly role?: string | undefined;
}

/** A video item of `content`. The spec does not show its shape: this one is our assumption. */
export interface Gamma2Video {
  /** Kind of the item (spec, Family `gamma-video-2.0`). */
  readonly type: "video_url";
  /** The video (spec, Family `gamma-video-2.0`). */
  readonly video_url: {
    /** http(s) URL that the gateway can download (spec, Family `gamma-video-2.0`). */
    readonly url: string;
  };
  /** Use of the video. The spec shows no list of roles (spec, Family `gamma-video-2.0`). */
  readonly role?: string | undefined;
}

/** An audio item of `content`. The spec does not show its shape: this one is our assumption. */
export interface Gamma2Audio {
  /** Kind of the item (spec, Family `gamma-video-2.0`). */
  readonly type: "audio_url";
  /** The sound (spec, Family `gamma-video-2.0`). */
  readonly audio_url: {
    /** http(s) URL that the gateway can download (spec, Family `gamma-video-2.0`). */
    readonly url: string;
  };
  /** Use of the sound. The spec shows no list of roles (spec, Family `gamma-video-2.0`). */
  readonly role?: string | undefined;
}

interface Gamma2Fields {
  /**
   * Content of the video: texts, images, videos and audios. At least one item; audios need an image or a video (spec,
   * Family `gamma-video-2.0`).
   */
  readonly content: readonly (VideoText | Gamma2Image | Gamma2Video | Gamma2Audio)[];
  /**
   * `true` gives the video voices, effects and music; `false` a silent video. The spec shows no default (spec, Family
   * `gamma-video-2.0`).
   */
  readonly generate_audio?: boolean | undefined;
  /**
   * Width to height. `"adaptive"` takes it from the content. The spec shows no default (spec, Family
   * `gamma-video-2.0`).
   */
  readonly ratio?: "16:9" | "4:3" | "1:1" | "3:4" | "9:16" | "21:9" | "adaptive" | undefined;
  /** Length in seconds. Whole number from 4 to 15. The spec shows no default (spec, Family `gamma-video-2.0`). */
  readonly duration?: number | undefined;
  /** Tools of the model: web search is the only one, and for text to video only (spec, Family `gamma-video-2.0`). */
  readonly tools?:
    | readonly {
        /** Kind of tool (spec, Family `gamma-video-2.0`). */
        readonly type: "web_search";
      }[]
    | undefined;
  /** Marks the video with a watermark. The spec shows no default (spec, Family `gamma-video-2.0`). */
  readonly watermark?: boolean | undefined;
  /**
   * Whole number. The spec does not list it for this model: it is sent with a warning (spec, Family
   * `gamma-video-2.0`).
   */
  readonly seed?: number | undefined;
  /**
   * Keeps the camera still. The spec does not list it for this model: it is sent with a warning (spec, Family
   * `gamma-video-2.0`).
   */
  readonly camera_fixed?: boolean | undefined;
  /** Not for this model: a field of the beta models. Use `content` (spec, Family `gamma-video-2.0`). */
  readonly input?: undefined;
  /**
   * Not for this model: a field of the beta models. Here parameters are top-level fields (spec, Family
   * `gamma-video-2.0`).
   */
  readonly parameters?: undefined;
}

/** Body of a request to `gamma-video-2.0` (spec, Family `gamma-video-2.0` and `gamma-video-fast`). */
export interface GammaVideo20Request extends Gamma2Fields {
  /** The model that makes the video. It decides the other fields (spec, Family `gamma-video-2.0`). */
  readonly model: "gamma-video-2.0";
  /**
   * Height of the video. Written with a small p, unlike beta models. The spec shows no default (spec, Family
   * `gamma-video-2.0`).
   */
  readonly resolution?: "480p" | "720p" | "1080p" | "4k" | undefined;
  /**
   * Adds the last frame as an image to the result. For this model only. The spec shows no default (spec, Family
   * `gamma-video-2.0`).
   */
  readonly return_last_frame?: boolean | undefined;
}

/** Body of a request to `gamma-video-fast` (spec, Family `gamma-video-2.0` and `gamma-video-fast`). */
export interface GammaVideoFastRequest extends Gamma2Fields {
  /** The model that makes the video. It decides the other fields (spec, Family `gamma-video-2.0`). */
  readonly model: "gamma-video-fast";
  /**
   * Height of the video. Written with a small p, unlike beta models. The spec shows no default (spec, Family
   * `gamma-video-2.0`).
   */
  readonly resolution?: "480p" | "720p" | undefined;
  /** Not for this model: a field of `gamma-video-2.0` (spec, Family `gamma-video-2.0`). */
  readonly return_last_frame?:
    | Denied<"is for gamma-video-2.0 only; leave it out, or use that model">
    | undefined;
}
