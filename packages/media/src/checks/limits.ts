import { models } from "@sluice/core/schemas";

/** Limits of a file for one use. Absent limits are not in the spec. */
export interface MediaLimits {
  /** Kind of the file. */
  readonly kind: "image" | "video" | "audio" | "file";
  /** Format names, as in {@link MediaProbe.format}: `"jpeg"`, `"mov"`, `"docx"`. */
  readonly formats: readonly string[];
  /** If `false`, a PNG must not have an alpha channel. */
  readonly alpha?: boolean;
  /** Width and height in pixels, both ends included. */
  readonly side?: {
    /** Minimum length of the short side. */
    readonly min: number;
    /** Maximum length of the long side. */
    readonly max: number;
  };
  /** Maximum ratio of the long side to the short side. */
  readonly aspectRatioMax?: number;
  /** Maximum size of one file in bytes. */
  readonly bytes?: number;
  /** Length of one file in seconds, both ends included. */
  readonly seconds?: {
    /** Minimum length. */
    readonly min: number;
    /** Maximum length. */
    readonly max: number;
  };
  /** Maximum total length of all files of this use in one request, in seconds. */
  readonly secondsInAll?: number;
  /** Pages of one file of these formats. This library does not count pages. */
  readonly pages?: {
    /** Maximum number of pages in one file. */
    readonly max: number;
    /** Formats with this limit. */
    readonly formats: readonly string[];
  };
}

const image = {
  kind: "image",
  formats: models["beta3.0-video"].imageFormats,
  alpha: false,
  side: { min: 240, max: 8000 },
  aspectRatioMax: 8,
  bytes: 20_971_520,
} as const;

/**
 * Limits of every use that has limits in the spec, as data. The uses are the `input.media` item types of the `beta`
 * video models (spec, Family `beta`), and `chat_image` for the image parts of a chat message (spec, Model
 * `alpha-v4.1-flash`). The spec lists no limits for reference images of image models, for frames of the `gamma` video
 * models, and for assets.
 *
 * @example
 * ```ts run
 * const megabytes = mediaLimits.reference_image.bytes / 1_048_576; // 20
 * ```
 */
export const mediaLimits = {
  first_frame: image,
  last_frame: image,
  reference_image: image,
  reference_video: {
    kind: "video",
    formats: ["mp4", "mov"],
    seconds: { min: 1, max: 15 },
    secondsInAll: 15,
    side: { min: 240, max: 4096 },
    aspectRatioMax: 8,
    bytes: 104_857_600,
  },
  reference_audio: {
    kind: "audio",
    formats: ["wav", "mp3"],
    seconds: { min: 1, max: 15 },
    secondsInAll: 15,
    bytes: 15_728_640,
  },
  /** Formats by the extension of the file name alone. The content and the number of pages are not read. */
  file: {
    kind: "file",
    // biome-ignore format: one block of extensions is easier to read
    formats: [
      "docx", "doc", "xlsx", "xls", "pptx", "ppt", "pdf", "txt", "key", "pages", "numbers", "md",
    ],
    pages: { max: 50, formats: ["pdf", "docx", "doc", "pptx", "ppt", "key", "pages"] },
    bytes: 104_857_600,
  },
  chat_image: { kind: "image", formats: ["jpeg", "png", "gif", "webp"] },
} as const satisfies Record<string, MediaLimits>;

/** Role of a file in a request: `"reference_image"`, `"chat_image"`, … It decides the limits. */
export type MediaUse = keyof typeof mediaLimits;

/** Maximum length of all reference videos and the result together, in seconds (spec, Family `beta`). */
export const inputAndOutputSeconds = 30;
