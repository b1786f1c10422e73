import * as v from "valibot";
import { forbidden, itemCount, type RequestOf, type Warn, wholeNumber } from "../../base/validate.js";
import { isPublicHTTP } from "../../base/web-address.js";
import { videoModels } from "../../types/media-models.js";
import { onlyBeta, onlyGamma2 } from "./denials.js";
import { durationWithin } from "./duration.js";

const pro = videoModels["gamma-video-1-5-pro-251215"];
const fast = videoModels["gamma-video-1-0-pro-fast-251015"];

/** A text item of `content`. */
export const videoText = v.object({
  /** Kind of the item. */
  type: v.literal("text"),
  /** Description of the motion, the scene and the camera. */
  text: v.string(),
});

/** A text item of `content` (spec, Family `gamma-video-1-5-pro-251215`). */
export type VideoText = RequestOf<typeof videoText>;

function imageWith<const Roles extends readonly string[]>(roles: Roles) {
  return v.object({
    /** Kind of the item. */
    type: v.literal("image_url"),
    /** The image. */
    image_url: v.object({
      /** Public http(s) URL. The gateway downloads it, so no data URI and no address of a private network. */
      url: v.pipe(
        v.string(),
        v.check(
          isPublicHTTP,
          "must be a public http(s) URL of an image: the gateway downloads it itself, so no data URI and no local address",
        ),
      ),
    }),
    /** Position of the image in the video. At most one of each. */
    role: v.picklist(roles),
  });
}

/** An image item of `content` for `gamma-video-1-5-pro-251215`: `role` names its frame. */
export const proFrame = imageWith(pro.roles);

/** Frame of a `gamma-video-1-5-pro-251215` video (spec, Family `gamma-video-1-5-pro-251215`). */
export type ProFrame = RequestOf<typeof proFrame>;

/** An image item of `content` for `gamma-video-1-0-pro-fast-251015`: the first frame. */
export const fastFrame = imageWith(fast.roles);

/**
 * Frame of a `gamma-video-1-0-pro-fast-251015` video, which has a first frame only (spec, Family
 * `gamma-video-1-0-pro-fast-251015`).
 */
export type FastFrame = RequestOf<typeof fastFrame>;

type ProContent = (VideoText | ProFrame)[];
type FastContent = (VideoText | FastFrame)[];
type Content = readonly { readonly type: string; readonly role?: string }[];

/** Counts the items whose type or role is `name`. */
const countItems = (content: Content, name: string) =>
  content.filter(({ type, role }) => type === name || role === name).length;

const oneText = <Items extends Content>() =>
  itemCount<Items>(
    "one-text",
    "type",
    ["text"],
    [1, 1],
    "must have exactly one text item, which says what happens",
  );
const atMostOne = (role: string) =>
  itemCount<ProContent>(
    `${role.replace("_", "-")}-count`,
    "role",
    [role],
    [0, 1],
    `has more than one ${role}; keep one`,
  );

// the type follows the same rule
const textContent = v.pipe(v.array(videoText), oneText<VideoText[]>()) as v.GenericSchema as v.GenericSchema<
  readonly [VideoText]
>;
const proItem: v.GenericSchema<VideoText | ProFrame> = v.variant("type", [videoText, proFrame]);
const proContent = v.pipe(
  v.array(proItem),
  oneText<ProContent>(),
  atMostOne("first_frame"),
  atMostOne("last_frame"),
);
const fastItem: v.GenericSchema<VideoText | FastFrame> = v.variant("type", [videoText, fastFrame]);
const fastContent = v.pipe(
  v.array(fastItem),
  oneText<FastContent>(),
  itemCount<FastContent>(
    "one-image",
    "type",
    ["image_url"],
    [1, 1],
    "must have exactly one image, the first_frame",
  ),
);

/** Fields that all models of the family share. */
const fields = {
  /** Marks the video with a watermark. @default false */
  watermark: v.optional(v.boolean()),
  /** Not for this model: a field of the beta models. Use `content`. */
  input: forbidden(onlyBeta),
  /** Not for this model: a field of the beta models. Here parameters are top-level fields. */
  parameters: forbidden(onlyBeta),
  /** Not for this model: a field of `gamma-video-2.0`. */
  return_last_frame: forbidden(onlyGamma2),
} as const;
/** Fields of text to video. */
const fromText = {
  /** Content of the video: exactly one text item. For image to video, images as well. */
  content: textContent,
  /** Keeps the camera still. For text to video only. @default false */
  camera_fixed: v.optional(v.boolean()),
} as const;
const noFixedCamera = v.optional(
  v.never("is for text-to-video only; leave it out, or the images of content"),
);

const proFields = {
  /** The model. It decides the other fields. */
  model: v.literal("gamma-video-1-5-pro-251215"),
  /**
   * Width to height. `"adaptive"` takes it from the image and the text.
   *
   * @default "adaptive"
   */
  ratio: v.optional(v.picklist(pro.ratios)),
  /**
   * Adds a sound track that fits the video. The spec describes it for text to video.
   *
   * @default false
   */
  generate_audio: v.optional(v.boolean()),
  /**
   * Height of the video. Written with a small p, unlike beta models.
   *
   * @default "720p"
   */
  resolution: v.optional(v.picklist(pro.resolutions)),
  /**
   * Length in seconds. Whole number from 4 to 12, or -1: the model chooses.
   *
   * @default 5
   */
  duration: v.optional(durationWithin(pro.duration)),
  /** Whole number from -1 to 4,294,967,295; the same request with the same seed gives a similar video. */
  seed: v.optional(wholeNumber(pro.seed.min, pro.seed.max)),
  ...fields,
} as const;

const proFromText = v.object({ ...proFields, ...fromText });

/** Text to video by `gamma-video-1-5-pro-251215` (spec, Family `gamma-video-1-5-pro-251215`). */
export type ProTextRequest = RequestOf<typeof proFromText>;

const proFromImages = v.object({
  ...proFields,
  /** Content of the video: one text item, and a first frame, a last frame or both. */
  content: proContent,
  /** Not with images in `content`: the camera is fixed in text to video only. */
  camera_fixed: noFixedCamera,
});

/** Image to video by `gamma-video-1-5-pro-251215` (spec, Family `gamma-video-1-5-pro-251215`). */
export type ProImageRequest = RequestOf<typeof proFromImages>;

/** Body of a request to `gamma-video-1-5-pro-251215`: text to video, or image to video. */
export type GammaVideo15ProRequest = ProTextRequest | ProImageRequest;

const fastFields = {
  /** The model. It decides the other fields. */
  model: v.literal("gamma-video-1-0-pro-fast-251015"),
  /**
   * Height of the video. Written with a small p, unlike beta models.
   *
   * @default "1080p"
   */
  resolution: v.optional(v.picklist(fast.resolutions)),
  /** Length in seconds. Whole number from 2 to 12. @default 5 */
  duration: v.optional(durationWithin(fast.duration)),
  /** Whole number from -1 to 4,294,967,295; the same request with the same seed gives a similar video. */
  seed: v.optional(wholeNumber(fast.seed.min, fast.seed.max)),
  ...fields,
  /** Not for this model, whose videos are silent. */
  generate_audio: forbidden("is not for this model, whose videos are silent; leave it out"),
} as const;

const fastFromText = v.object({
  ...fastFields,
  ...fromText,
  /**
   * Width to height. `"adaptive"` is not possible in text to video.
   *
   * @default "16:9"
   */
  ratio: v.optional(
    v.picklist(
      fast.textRatios,
      `must be one of ${fast.textRatios.join(", ")} without an image: adaptive takes the ratio of one`,
    ),
  ),
});

/** Text to video by `gamma-video-1-0-pro-fast-251015` (spec, Family `gamma-video-1-0-pro-fast-251015`). */
export type FastTextRequest = RequestOf<typeof fastFromText>;

const fastFromImage = v.object({
  ...fastFields,
  /** Content of the video: one text item and one image, the first frame. */
  content: fastContent,
  /**
   * Width to height. `"adaptive"` takes it from the image.
   *
   * @default "adaptive"
   */
  ratio: v.optional(v.picklist(fast.ratios)),
  /** Not with images in `content`: the camera is fixed in text to video only. */
  camera_fixed: noFixedCamera,
});

/** Image to video by `gamma-video-1-0-pro-fast-251015` (spec, Family `gamma-video-1-0-pro-fast-251015`). */
export type FastImageRequest = RequestOf<typeof fastFromImage>;

/** Body of a request to `gamma-video-1-0-pro-fast-251015`: text to video, or image to video. */
export type GammaVideo10ProFastRequest = FastTextRequest | FastImageRequest;

/** Returns true for a request with images. The mode decides the schema and so the error messages. */
function hasImages(request: unknown): boolean {
  const content = (request as { content?: unknown } | undefined)?.content;
  return Array.isArray(content) && content.some((item) => (item as Content[number] | null)?.type !== "text");
}

/** Schema of a request to `gamma-video-1-5-pro-251215`: text to video, or image to video. */
export const gammaVideo15ProRequest: v.GenericSchema<GammaVideo15ProRequest> = v.lazy((request) =>
  hasImages(request) ? proFromImages : proFromText,
);

/** Schema of a request to `gamma-video-1-0-pro-fast-251015`: text to video, or image to video. */
export const gammaVideo10ProFastRequest: v.GenericSchema<GammaVideo10ProFastRequest> = v.lazy((request) =>
  hasImages(request) ? fastFromImage : fastFromText,
);

/** Warns about fields that the spec neither lists nor forbids (wire, 1.60). */
export function warnOfPro({ content, generate_audio }: GammaVideo15ProRequest, warn: Warn): void {
  const items: Content = content;
  if (generate_audio && countItems(items, "image_url") > 0)
    warn("generate_audio", "audio-with-images", "is described for text-to-video; it may have no effect here");
  if (countItems(items, "last_frame") > 0 && countItems(items, "first_frame") === 0)
    warn(
      "content",
      "last-frame-alone",
      "has a last_frame without a first_frame, which the spec does not list",
    );
}
