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

/** An image that draws its rows on demand. */
export interface Bitmap {
  /** Width in pixels. */
  readonly width: number;
  /** Height in pixels. */
  readonly height: number;
  /** Writes red, green and blue of each pixel of row `y`. The emulator reads the rows in order, from 0. */
  readonly fill: (y: number, row: Uint8Array) => void;
}

/** A file with its content type, an image that the emulator encodes, or the caption of the emulator's own image. */
export type ScriptedMedia = Blob | Bitmap | string;

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
   * Creates an image. The `type` of a `Blob` becomes the content type. A `Bitmap` becomes a PNG.
   *
   * @default a PNG: a gradient with the prompt as its caption
   */
  readonly image?: (image: ImageDescription) => ScriptedMedia | Promise<ScriptedMedia>;
  /**
   * Creates a video. The `type` of a `Blob` becomes the content type. A `Bitmap` becomes an MP4 of an image that moves.
   *
   * @default an MP4 (H.264) of the emulator's own image, which moves
   */
  readonly video?: (video: VideoDescription) => ScriptedMedia | Promise<ScriptedMedia>;
}

const SHORT_SIDE = 480;

/** Returns the size of a video: 480 pixels on the short side. */
export function getFrameSize(ratio: string): Pick<VideoDescription, "width" | "height"> {
  const [across = 16, down = 9] = ratio.split(":").map(Number);
  const shape = Math.min(3, Math.max(1 / 3, across / down || 16 / 9));
  const long = 8 * Math.round((SHORT_SIDE * Math.max(shape, 1 / shape)) / 8);
  return shape >= 1 ? { width: long, height: SHORT_SIDE } : { width: SHORT_SIDE, height: long };
}
