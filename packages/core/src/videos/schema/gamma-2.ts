import * as v from "valibot";
import {
  assumed,
  forbidden,
  type RequestOf,
  rule,
  type Warn,
  warnOfAssumed,
  wholeNumber,
  withKeywords,
} from "../../base/validate.js";
import { isAssetURI, isHTTP, isImageDataURI } from "../../base/web-address.js";
import { videoModels } from "../../types/media-models.js";
import { onlyBeta, onlyGamma2 } from "./denials.js";
import { durationWithin } from "./duration.js";
import { type VideoText, videoText } from "./gamma-1.js";

const full = videoModels["gamma-video-2.0"];
const fast = videoModels["gamma-video-fast"];

/** Returns true for `temporaryURL` of an asset. */
const isTemporaryURL = (url: unknown) => typeof url === "object" && url !== null && "forDisplayOnly" in url;

const imageURL = v.pipe(
  v.string(({ input }) =>
    isTemporaryURL(input)
      ? "is the temporary URL of an asset lookup; give the asset's uri, asset://<id>"
      : "must be a string",
  ),
  v.check(
    (url) => isHTTP(url) || isAssetURI(url) || isImageDataURI(url),
    "must be an http(s) URL, a Base64 data URI of an image, or asset://<id> of a registered asset",
  ),
);
const fileURL = v.pipe(
  v.string(),
  v.check(
    (url) => isHTTP(url) || isAssetURI(url),
    "must be an http(s) URL that the gateway can download, or asset://<id>",
  ),
);

/** An image item of `content`. `role` may name its use: `first_frame`, `last_frame`, `reference_image`. */
export const gamma2Image = v.object({
  /** Kind of the item. */
  type: v.literal("image_url"),
  /** The image. */
  image_url: v.object({
    /** http(s) URL, Base64 data URI of an image, or `asset://<id>`: the `uri` of a registered asset. */
    url: imageURL,
  }),
  /**
   * Use of the image: `first_frame`, `last_frame` or `reference_image`. The spec shows no list; other values are sent
   * with a warning.
   */
  role: v.optional(v.string()),
});

/** An image item of `content` (spec, Family `gamma-video-2.0` and `gamma-video-fast`). */
export type Gamma2Image = RequestOf<typeof gamma2Image>;

/** A video item of `content`. The spec does not show its shape: this one is our assumption. */
export const gamma2Video = v.object({
  /** Kind of the item. */
  type: v.literal("video_url"),
  /** The video. */
  video_url: v.object({
    /** http(s) URL that the gateway can download, or `asset://<id>`, which is sent with a warning. */
    url: fileURL,
  }),
  /** Use of the video. The spec shows no list of roles. */
  role: v.optional(v.string()),
});

/**
 * A video item of `content` (spec, Family `gamma-video-2.0`). The spec does not show its shape: this one is our
 * assumption.
 */
export type Gamma2Video = RequestOf<typeof gamma2Video>;

/** An audio item of `content`. The spec does not show its shape: this one is our assumption. */
export const gamma2Audio = v.object({
  /** Kind of the item. */
  type: v.literal("audio_url"),
  /** The sound. */
  audio_url: v.object({
    /** http(s) URL that the gateway can download, or `asset://<id>`, which is sent with a warning. */
    url: fileURL,
  }),
  /** Use of the sound. The spec shows no list of roles. */
  role: v.optional(v.string()),
});

/**
 * An audio item of `content` (spec, Family `gamma-video-2.0`). The spec does not show its shape: this one is our
 * assumption.
 */
export type Gamma2Audio = RequestOf<typeof gamma2Audio>;

/** Assumed shape of the video and audio items, which the spec does not show. */
const assumedRequest = v.object({
  content: v.array(v.variant("type", [videoText, gamma2Image, gamma2Video, gamma2Audio])),
});

const KINDS = ["text", "image_url", "video_url", "audio_url"];

/** An item of an unknown kind. */
const otherItem = v.object({
  type: v.pipe(
    v.string(),
    withKeywords(
      { not: { enum: ["", ...KINDS] } },
      v.check((type: string) => type !== "" && !KINDS.includes(type)),
    ),
  ),
  role: v.optional(v.string()),
});

const item = v.variant("type", [
  videoText,
  gamma2Image,
  v.object({ ...gamma2Video.entries, video_url: assumed(gamma2Video.entries.video_url) }),
  v.object({ ...gamma2Audio.entries, audio_url: assumed(gamma2Audio.entries.audio_url) }),
  otherItem,
]) as v.GenericSchema as v.GenericSchema<VideoText | Gamma2Image | Gamma2Video | Gamma2Audio>;
type Items = v.InferInput<typeof item>[];
interface File {
  readonly url?: unknown;
}
type Content = readonly {
  readonly type: string;
  readonly role?: string | undefined;
  readonly video_url?: File;
  readonly audio_url?: File;
}[];

const content = v.pipe(
  v.array(item),
  withKeywords(
    { minLength: 1 },
    rule<Items>("content-empty", (items) => items.length > 0, "must have at least one item"),
  ),
  rule<Items>(
    "audio-needs-image",
    // an unknown item may be a video
    (items) =>
      items.every(({ type }) => type !== "audio_url") ||
      items.some(({ type }) => type !== "text" && type !== "audio_url"),
    "has audio without an image or a video; add one of them",
  ),
);

/** Fields that both models share. */
const fields = {
  /**
   * Content of the video: texts, images, videos and audios. At least one item; audios need an image or a video.
   */
  content,
  /** `true` gives the video voices, effects and music; `false` a silent video. The spec shows no default. */
  generate_audio: v.optional(v.boolean()),
  /** Width to height. `"adaptive"` takes it from the content. The spec shows no default. */
  ratio: v.optional(v.picklist(full.ratios)),
  /** Length in seconds. Whole number from 4 to 15. The spec shows no default. */
  duration: v.optional(durationWithin(full.duration)),
  /** Tools of the model: web search is the only one, and for text to video only. */
  tools: v.optional(
    v.array(
      v.object({
        /** Kind of tool. */
        type: v.literal("web_search"),
      }),
    ),
  ),
  /** Marks the video with a watermark. The spec shows no default. */
  watermark: v.optional(v.boolean()),
  /** Whole number. The spec does not list it for this model: it is sent with a warning. */
  seed: v.optional(wholeNumber()),
  /** Keeps the camera still. The spec does not list it for this model: it is sent with a warning. */
  camera_fixed: v.optional(v.boolean()),
  /** Not for this model: a field of the beta models. Use `content`. */
  input: forbidden(onlyBeta),
  /** Not for this model: a field of the beta models. Here parameters are top-level fields. */
  parameters: forbidden(onlyBeta),
} as const;

const searchOnlyWithText = <Request extends { content: Content; tools?: readonly unknown[] | undefined }>() =>
  rule<Request>(
    "tools-need-text-only",
    ({ content, tools }) => !tools?.length || content.every(({ type }) => type === "text"),
    "web search works in text-to-video only; leave out tools, or all media of content",
    "tools",
  );

const fullRequest = v.object({
  /** The model. It decides the other fields. */
  model: v.literal("gamma-video-2.0"),
  ...fields,
  /** Height of the video. Written with a small p, unlike beta models. The spec shows no default. */
  resolution: v.optional(v.picklist(full.resolutions)),
  /** Adds the last frame as an image to the result. For this model only. The spec shows no default. */
  return_last_frame: v.optional(v.boolean()),
});

/** Body of a request to `gamma-video-2.0` (spec, Family `gamma-video-2.0` and `gamma-video-fast`). */
export type GammaVideo20Request = RequestOf<typeof fullRequest>;

const fastRequest = v.object({
  /** The model. It decides the other fields. */
  model: v.literal("gamma-video-fast"),
  ...fields,
  /** Height of the video. Written with a small p, unlike beta models. The spec shows no default. */
  resolution: v.optional(v.picklist(fast.resolutions)),
  /** Not for this model: a field of `gamma-video-2.0`. */
  return_last_frame: forbidden(onlyGamma2),
});

/** Body of a request to `gamma-video-fast` (spec, Family `gamma-video-2.0` and `gamma-video-fast`). */
export type GammaVideoFastRequest = RequestOf<typeof fastRequest>;

/** Schema of a request to `gamma-video-2.0`. */
export const gammaVideo20Request: v.GenericSchema<GammaVideo20Request> = v.pipe(
  fullRequest,
  searchOnlyWithText(),
);
/** Schema of a request to `gamma-video-fast`. */
export const gammaVideoFastRequest: v.GenericSchema<GammaVideoFastRequest> = v.pipe(
  fastRequest,
  searchOnlyWithText(),
);

/**
 * Warns about fields that the spec neither lists nor forbids (wire, 1.63), and about items that it does not show
 * (1.64).
 */
export function warnOfGamma2(request: GammaVideo20Request | GammaVideoFastRequest, warn: Warn): void {
  warnOfAssumed(assumedRequest, request, warn);
  const roles: readonly string[] = full.roles;
  for (const field of ["seed", "camera_fixed"] as const)
    if (request[field] !== undefined)
      warn(field, `${field.replace("_", "-")}-unlisted`, "is not listed for this model; it may be ignored");
  for (const [index, { role, ...item }] of (request.content as Content).entries()) {
    for (const kind of ["video_url", "audio_url"] as const)
      if (isAssetURI(String(item[kind]?.url)))
        warn(
          `content.${index}.${kind}.url`,
          "asset-unlisted",
          "is an asset: the spec shows assets for images alone; the gateway may refuse it",
        );
    if (role !== undefined && !roles.includes(role))
      warn(`content.${index}.role`, "role-unlisted", `is not a known role: ${roles.join(", ")}`);
  }
}
