/** Description of an image. Equal requests have equal descriptions. */
export interface ImageDescription {
  /** Width in pixels. */
  readonly width: number;
  /** Height in pixels. */
  readonly height: number;
  /** Prompt without its faults, at most 600 characters. For an asset, its name. */
  readonly prompt: string;
  /** Prompt of the emulator's image that this image edits. @default none */
  readonly base?: string;
  /** Text that decides everything the prompt leaves open, derived from the `seed` of the request if it has one. */
  readonly seed: string;
  /** Index in a set of images, from 0. */
  readonly index: number;
  /** Three colors for a reference image from elsewhere, `#rrggbb`, from top to bottom. @default none */
  readonly colors?: readonly string[];
  /** True for the last frame of a video. @default false */
  readonly isLastFrame?: boolean;
}

/** Description of a video. */
export interface VideoDescription extends Omit<ImageDescription, "isLastFrame"> {
  /** Length in seconds. */
  readonly seconds: number;
}

/**
 * Decides which files the URLs of images and videos return. Both functions run when a file is fetched, and again after
 * four other files. A rejection breaks the response as a network failure does.
 *
 * @example
 * ```ts
 * import { openAsBlob } from "node:fs";
 *
 * const emulator = createEmulator({
 *   media: { video: ({ seconds }) => openAsBlob(`fixtures/${seconds}s.mp4`, { type: "video/mp4" }) },
 * });
 * ```
 */
export interface MediaScript {
  /**
   * Creates an image. The `type` of a `Blob` becomes the content type. A string becomes the caption of the emulator's
   * own image.
   *
   * @default a PNG: a gradient with the prompt as its caption
   */
  readonly image?: (image: ImageDescription) => Blob | string | Promise<Blob | string>;
  /**
   * Creates a video. The `type` of a `Blob` becomes the content type. A string becomes the caption of the emulator's
   * own video.
   *
   * @default an MP4 (H.264) of the emulator's own image, which moves
   */
  readonly video?: (video: VideoDescription) => Blob | string | Promise<Blob | string>;
}

const SHORT_SIDE = 480;

/** Returns the size of a video: 480 pixels on the short side. */
export function getFrameSize(ratio: string): Pick<VideoDescription, "width" | "height"> {
  const [across = 16, down = 9] = ratio.split(":").map(Number);
  const shape = Math.min(3, Math.max(1 / 3, across / down || 16 / 9));
  const long = 8 * Math.round((SHORT_SIDE * Math.max(shape, 1 / shape)) / 8);
  return shape >= 1 ? { width: long, height: SHORT_SIDE } : { width: SHORT_SIDE, height: long };
}
