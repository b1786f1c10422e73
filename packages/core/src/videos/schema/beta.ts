import * as v from "valibot";
import { optionsOf, refusing, rule, type Same, type Warn, wholeNumber } from "../../base/validate.js";
import { isHTTP, isImageDataURI, isPublicHTTP } from "../../base/web-address.js";
import { videoModels } from "../../vocabulary/models.js";
import type { BetaVideoRequest } from "./beta-body.js";
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

/** An `input.media` item that is a frame of the video itself. */
export const betaFrame = v.object({ type: v.picklist(beta.frames), url: imageURL });

const referenceImage = v.object({ type: v.literal("reference_image"), url: imageURL });
const publicReference = v.object({
  type: v.picklist(["reference_video", "reference_audio", "file", "link"]),
  url: publicURL,
});
/** An `input.media` item that is a reference. */
export const betaReference = v.variant("type", [referenceImage, publicReference]);

type Frame = v.InferInput<typeof betaFrame>;
type Reference = v.InferInput<typeof betaReference>;
type Item = Frame | Reference;
type MediaType = Item["type"];

const count = (items: readonly { readonly type: MediaType }[], ...types: readonly MediaType[]) =>
  items.filter(({ type }) => types.includes(type)).length;

const atMost = (
  type: "first_frame" | "last_frame" | "reference_image" | "reference_video" | "reference_audio",
) =>
  rule<Item[]>(
    `${type.replace("_", "-")}-count`,
    (items) => count(items, type) <= beta.most[type],
    `has more than ${beta.most[type]} ${type}; leave out the rest`,
  );

const anyMedia = v.pipe(
  v.array(v.variant("type", [betaFrame, referenceImage, publicReference])),
  rule<Item[]>(
    "frames-exclude-references",
    (items) => count(items, ...beta.frames) === 0 || count(items, ...beta.references) === 0,
    "mixes frames with references: send items of one kind only",
  ),
  rule<Item[]>(
    "last-frame-needs-first",
    (items) => count(items, "last_frame") === 0 || count(items, "first_frame") > 0,
    "has a last_frame without a first_frame; add the first, or send the image as first_frame",
  ),
  rule<Item[]>(
    "one-document",
    (items) => count(items, "file", "link") <= 1,
    "has more than one file or link; keep one of them",
  ),
  atMost("first_frame"),
  atMost("last_frame"),
  atMost("reference_image"),
  atMost("reference_video"),
  atMost("reference_audio"),
);
// the type has the same rule: a list has frames or references, not both
const media = anyMedia as v.GenericSchema as v.GenericSchema<Frame[] | Reference[]>;

const prompt = v.pipe(
  v.string(),
  v.check(
    (text) => text.length <= beta.promptMax || [...text].length <= beta.promptMax,
    `is longer than ${beta.promptMax} characters, which makes the request fail; shorten it`,
  ),
);
type Media = Frame[] | Reference[];
type Input = { prompt: string; media?: Media | undefined } | { prompt?: string | undefined; media: Media };
const input = v.pipe(
  v.object({ prompt: v.optional(prompt), media: v.optional(media) }),
  v.forward(
    rule(
      "prompt-required",
      ({ prompt, media }) => !!prompt?.trim() || !!media?.length,
      "is required where there is no media: give a prompt, media, or both",
    ),
    ["prompt"],
  ),
) as v.GenericSchema as v.GenericSchema<Input>;

const parameters = optionsOf({
  resolution: v.optional(v.picklist(beta.resolutions)),
  ratio: v.optional(v.picklist(beta.ratios)),
  duration: v.optional(durationWithin(beta.duration)),
  audio: v.optional(v.boolean()),
  prompt_extend: v.optional(v.boolean()),
  seed: v.optional(wholeNumber(beta.seed.min, beta.seed.max)),
  watermark: v.optional(v.boolean()),
});

const fields = {
  model: v.picklist(["beta3.0-video", "beta3.0-video-prime"]),
  input,
  parameters: v.optional(parameters),
  ...refusing(beta.denied),
};

/** Schema of a request to `beta3.0-video` or `beta3.0-video-prime`. */
export const betaVideoRequest: v.GenericSchema<BetaVideoRequest> = v.object(fields);

/** Compares the declared request with its schema, both ways: a field that one of them lacks does not compile. */
type _Declared = Same<BetaVideoRequest, v.ObjectSchema<typeof fields, undefined>>;

/** Warns about fields that the spec neither lists nor forbids (wire, 1.54). */
export function warnOfBeta({ input: { prompt = "", media = [] } }: BetaVideoRequest, warn: Warn): void {
  for (const [type, name] of Object.entries(beta.promptNames)) {
    const given = count(media, type as MediaType);
    const named = [...prompt.matchAll(new RegExp(`\\b${name} ?(\\d+)`, "g"))].map(([, number]) =>
      Number(number),
    );
    const beyond = named.find((number) => number > given);
    if (beyond !== undefined)
      warn(
        "input.prompt",
        "prompt-names-missing-media",
        `names ${name} ${beyond}, but input.media has ${given} ${type}`,
      );
  }
  if (count(media, "file", "link") > 0 && count(media, ...beta.references) > count(media, "file", "link"))
    warn(
      "input.media",
      "document-with-references",
      "mixes a file or link with references, which the spec neither lists nor forbids",
    );
}
