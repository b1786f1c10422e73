import * as v from "valibot";
import {
  forbidden,
  itemCount,
  optionalObject,
  type RequestOf,
  rule,
  type Warn,
  wholeNumber,
  withKeywords,
} from "../../base/validate.js";
import { isHTTP, isImageDataURI, isPublicHTTP } from "../../base/web-address.js";
import { videoModels } from "../../types/media-models.js";
import { onlyGamma, onlyGamma2 } from "./denials.js";
import { durationWithin } from "./duration.js";

const beta = videoModels["beta3.0-video"];

const publicURL = v.pipe(
  v.string(),
  v.check(
    isPublicHTTP,
    "must be a public http(s) URL: the gateway downloads it itself, so no data:, blob: or file: URL and no local address",
  ),
);
const imageURL = v.pipe(
  v.string(),
  v.check(
    (url) => isHTTP(url) || isImageDataURI(url, beta.imageFormats),
    "must be an http(s) URL or a Base64 data URI of a JPEG, PNG, BMP or WEBP image",
  ),
);

/** An `input.media` item that is a frame of the video. */
export const betaFrame = v.object({
  /** Position of the image in the video. At most one of each; a `last_frame` needs a `first_frame`. */
  type: v.picklist(beta.frames),
  /** http(s) URL, or Base64 data URI of a JPEG, PNG, BMP or WEBP image; at most 20 MB. */
  url: imageURL,
});

/** An image that is the first or the last frame of the video (spec, Family `beta`). */
export type BetaFrame = RequestOf<typeof betaFrame>;

const referenceImage = v.object({
  /** Kind of the reference. At most 10 images. */
  type: v.literal("reference_image"),
  /** http(s) URL, or Base64 data URI of a JPEG, PNG, BMP or WEBP image; at most 20 MB. */
  url: imageURL,
});

/** An image as a reference for the subject or style (spec, Family `beta`). At most 10. */
export type BetaReferenceImage = RequestOf<typeof referenceImage>;

const publicReference = v.object({
  /**
   * Kind of the reference. At most 5 videos and 5 audios of 15 seconds in total each; one `file` or one `link`, not
   * both.
   */
  type: v.picklist(["reference_video", "reference_audio", "file", "link"]),
  /** Public http(s) URL. The gateway downloads it, so no data URI and no address of a private network. */
  url: publicURL,
});

/** A video, audio, file or web page that the video uses as a reference (spec, Family `beta`). */
export type BetaPublicReference = RequestOf<typeof publicReference>;

/** An `input.media` item that is a reference. */
export const betaReference = v.variant("type", [referenceImage, publicReference]);

type Item = BetaFrame | BetaReferenceImage | BetaPublicReference;
type MediaType = Item["type"];

const countItems = (items: readonly { readonly type: MediaType }[], ...types: readonly MediaType[]) =>
  items.filter(({ type }) => types.includes(type)).length;

const atMost = (
  type: "first_frame" | "last_frame" | "reference_image" | "reference_video" | "reference_audio",
) =>
  itemCount<Item[]>(
    `${type.replace("_", "-")}-count`,
    "type",
    [type],
    [0, beta.maxItems[type]],
    `has more than ${beta.maxItems[type]} ${type}; leave out the rest`,
  );

const anyMedia = v.pipe(
  v.array(v.variant("type", [betaFrame, referenceImage, publicReference])),
  rule<Item[]>(
    "frames-exclude-references",
    (items) => countItems(items, ...beta.frames) === 0 || countItems(items, ...beta.references) === 0,
    "mixes frames with references: send items of one kind only",
  ),
  rule<Item[]>(
    "last-frame-needs-first",
    (items) => countItems(items, "last_frame") === 0 || countItems(items, "first_frame") > 0,
    "has a last_frame without a first_frame; add the first, or send the image as first_frame",
  ),
  itemCount<Item[]>(
    "one-document",
    "type",
    ["file", "link"],
    [0, 1],
    "has more than one file or link; keep one of them",
  ),
  atMost("first_frame"),
  atMost("last_frame"),
  atMost("reference_image"),
  atMost("reference_video"),
  atMost("reference_audio"),
);
// the type follows the same rule: a list has frames or references, not both
const media = anyMedia as v.GenericSchema as v.GenericSchema<
  readonly BetaFrame[] | readonly (BetaReferenceImage | BetaPublicReference)[]
>;

const prompt = v.pipe(
  v.string(),
  withKeywords(
    { maxLength: beta.promptMax },
    v.check(
      (text: string) => text.length <= beta.promptMax || [...text].length <= beta.promptMax,
      `is longer than ${beta.promptMax} characters, which makes the request fail; shorten it`,
    ),
  ),
);

const input = v.object({
  /**
   * Description of the video, in Chinese or English. At most 5,000 characters. Write references by kind and order:
   * `Image 1`, `Video 1`, `Audio 1`. Required without `media`.
   */
  prompt: v.optional(prompt),
  /**
   * Frames, or references. Their types decide the mode. Leave it out for text to video. Required without `prompt`.
   */
  media: v.optional(media),
});
type Input = RequestOf<typeof input>;
type RequireField<T, Name extends keyof T> = { readonly [Key in Name]-?: Exclude<T[Key], undefined> };

/** Content of a `beta` video with a prompt, and perhaps media (spec, Family `beta`). */
export interface BetaPromptInput extends RequireField<Input, "prompt">, Pick<Input, "media"> {}

/** Content of a `beta` video with media, and perhaps a prompt (spec, Family `beta`). */
export interface BetaMediaInput extends RequireField<Input, "media">, Pick<Input, "prompt"> {}

const promptOrMedia = v.pipe(
  input,
  rule(
    "prompt-required",
    ({ prompt, media }) => !!prompt?.trim() || !!media?.length,
    "is required where there is no media: give a prompt, media, or both",
    "prompt",
  ),
) as v.GenericSchema as v.GenericSchema<BetaPromptInput | BetaMediaInput>;

const parameters = optionalObject({
  /** Height of the video. Written with a capital P, unlike gamma models. @default "1080P" */
  resolution: v.optional(v.picklist(beta.resolutions)),
  /**
   * Width to height. `"adaptive"` takes it from the images and the prompt.
   *
   * @default "adaptive"
   */
  ratio: v.optional(v.picklist(beta.ratios)),
  /**
   * Length in seconds. Whole number from 2 to 30, or -1: the model chooses. With reference videos, their length and this
   * one are at most 30 seconds together.
   *
   * @default 5
   */
  duration: v.optional(durationWithin(beta.duration)),
  /** Adds a sound track. The price is the same. @default true */
  audio: v.optional(v.boolean()),
  /** Lets the gateway expand the prompt with details. @default true */
  prompt_extend: v.optional(v.boolean()),
  /** Whole number from 0 to 2,147,483,647; the same request with the same seed gives a similar video. */
  seed: v.optional(wholeNumber(beta.seed.min, beta.seed.max)),
  /** Marks the video with a watermark. @default false */
  watermark: v.optional(v.boolean()),
});

/** Parameters of a `beta` video (spec, Family `beta`). */
export type BetaVideoParameters = RequestOf<typeof parameters>;

const request = v.object({
  /** The model. Both accept the same fields. */
  model: v.picklist(["beta3.0-video", "beta3.0-video-prime"]),
  /** Content of the video: a prompt, media, or both. */
  input: promptOrMedia,
  /** Size, length and other settings. */
  parameters: v.optional(parameters as v.GenericSchema<BetaVideoParameters>),
  /** Not for this model: a field of the gamma models. Use `input`. */
  content: forbidden(onlyGamma),
  /** Belongs in `parameters` for this model. */
  resolution: forbidden("belongs in `parameters`"),
  /** Belongs in `parameters` for this model. */
  ratio: forbidden("belongs in `parameters`"),
  /** Belongs in `parameters` for this model. */
  duration: forbidden("belongs in `parameters`"),
  /** Belongs in `parameters` for this model. */
  seed: forbidden("belongs in `parameters`"),
  /** Belongs in `parameters` for this model. */
  watermark: forbidden("belongs in `parameters`"),
  /** Not for this model: a field of `gamma-video-2.0`. */
  return_last_frame: forbidden(onlyGamma2),
});

/**
 * Body of a request to `beta3.0-video` or `beta3.0-video-prime` (spec, Family `beta`). The types of `input.media` decide
 * the mode: text to video, first frame, first and last frame, references, a file, or a web page.
 */
export type BetaVideoRequest = RequestOf<typeof request>;

/** Schema of a request to `beta3.0-video` or `beta3.0-video-prime`. */
export const betaVideoRequest: v.GenericSchema<BetaVideoRequest> = request;

/** Warns about fields that the spec neither lists nor forbids (wire, 1.54). */
export function warnOfBeta({ input: { prompt = "", media = [] } }: BetaVideoRequest, warn: Warn): void {
  for (const [type, name] of Object.entries(beta.promptNames)) {
    const given = countItems(media, type as MediaType);
    const named = [...prompt.matchAll(new RegExp(`\\b${name} ?(\\d+)`, "g"))].map(([, number]) =>
      Number(number),
    );
    const missing = named.find((number) => number > given);
    if (missing !== undefined)
      warn(
        "input.prompt",
        "prompt-names-missing-media",
        `names ${name} ${missing}, but input.media has ${given} ${type}`,
      );
  }
  if (
    countItems(media, "file", "link") > 0 &&
    countItems(media, ...beta.references) > countItems(media, "file", "link")
  )
    warn(
      "input.media",
      "document-with-references",
      "mixes a file or link with references, which the spec neither lists nor forbids",
    );
}
