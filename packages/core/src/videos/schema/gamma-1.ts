import * as v from "valibot";
import { refusing, rule, type Same, type Warn, wholeNumber } from "../../base/validate.js";
import { isPublicHTTP } from "../../base/web-address.js";
import { videoModels } from "../../vocabulary/models.js";
import { durationWithin } from "./duration.js";
import type { GammaVideo10ProFastRequest, GammaVideo15ProRequest } from "./gamma-1-body.js";

const pro = videoModels["gamma-video-1-5-pro-251215"];
const fast = videoModels["gamma-video-1-0-pro-fast-251015"];

/** A text item of `content`. */
export const videoText = v.object({ type: v.literal("text"), text: v.string() });

const publicImage = v.object({
  url: v.pipe(
    v.string(),
    v.check(
      isPublicHTTP,
      "must be a public http(s) URL of an image: the gateway downloads it itself, so no data URI and no local address",
    ),
  ),
});

function imageWith<const Roles extends readonly string[]>(roles: Roles) {
  return v.object({
    type: v.literal("image_url"),
    image_url: publicImage,
    role: v.picklist(roles),
  });
}

/** An image item of `content` for `gamma-video-1-5-pro-251215`: `role` names its frame. */
export const proFrame = imageWith(pro.roles);
/** An image item of `content` for `gamma-video-1-0-pro-fast-251015`: the first frame. */
export const fastFrame = imageWith(fast.roles);

type Text = v.InferInput<typeof videoText>;
type ProContent = (Text | v.InferInput<typeof proFrame>)[];
type FastContent = (Text | v.InferInput<typeof fastFrame>)[];
type Content = readonly { readonly type: string; readonly role?: string }[];

const count = (content: Content, name: string) =>
  content.filter(({ type, role }) => type === name || role === name).length;

const oneText = <Items extends Content>() =>
  rule<Items>(
    "one-text",
    (content) => count(content, "text") === 1,
    "must have exactly one text item, which says what happens",
  );
const once = (role: string) =>
  rule<ProContent>(
    `${role.replace("_", "-")}-count`,
    (content) => count(content, role) <= 1,
    `has more than one ${role}; keep one`,
  );

// the type has the same rule
const textContent = v.pipe(v.array(videoText), oneText<Text[]>()) as v.GenericSchema as v.GenericSchema<
  [Text]
>;
const proContent = v.pipe(
  v.array(v.variant("type", [videoText, proFrame])),
  oneText<ProContent>(),
  once("first_frame"),
  once("last_frame"),
);
const fastContent = v.pipe(
  v.array(v.variant("type", [videoText, fastFrame])),
  oneText<FastContent>(),
  rule<FastContent>(
    "one-image",
    (content) => count(content, "image_url") === 1,
    "must have exactly one image, the first_frame",
  ),
);

const notWithImages = v.optional(
  v.never("is for text-to-video only; leave it out, or the images of content"),
);

/** Fields that all models of the family share. */
function fieldsOf(row: typeof pro | typeof fast) {
  return {
    resolution: v.optional(v.picklist(row.resolutions)),
    duration: v.optional(durationWithin(row.duration)),
    watermark: v.optional(v.boolean()),
    seed: v.optional(wholeNumber(row.seed.min, row.seed.max)),
  };
}

const proFields = {
  model: v.literal("gamma-video-1-5-pro-251215"),
  ratio: v.optional(v.picklist(pro.ratios)),
  generate_audio: v.optional(v.boolean()),
  ...fieldsOf(pro),
  ...refusing(pro.denied),
};
const fastFields = {
  model: v.literal("gamma-video-1-0-pro-fast-251015"),
  ...fieldsOf(fast),
  ...refusing(fast.denied),
};

const proFromText = v.object({
  ...proFields,
  content: textContent,
  camera_fixed: v.optional(v.boolean()),
});
const proFromImages = v.object({ ...proFields, content: proContent, camera_fixed: notWithImages });
const fastFromText = v.object({
  ...fastFields,
  content: textContent,
  ratio: v.optional(
    v.picklist(
      fast.textRatios,
      `must be one of ${fast.textRatios.join(", ")} without an image: adaptive takes the ratio of one`,
    ),
  ),
  camera_fixed: v.optional(v.boolean()),
});
const fastFromImage = v.object({
  ...fastFields,
  content: fastContent,
  ratio: v.optional(v.picklist(fast.ratios)),
  camera_fixed: notWithImages,
});

/** Returns true for a request with images. Its mode decides the schema, and so the messages. */
function showsImages(request: unknown): boolean {
  const content = (request as { content?: unknown } | undefined)?.content;
  return Array.isArray(content) && content.some((item) => (item as Content[number] | null)?.type !== "text");
}

/** Schema of a request to `gamma-video-1-5-pro-251215`: text to video, or image to video. */
export const gammaVideo15ProRequest: v.GenericSchema<GammaVideo15ProRequest> = v.lazy((request) =>
  showsImages(request) ? proFromImages : proFromText,
);

/** Schema of a request to `gamma-video-1-0-pro-fast-251015`: text to video, or image to video. */
export const gammaVideo10ProFastRequest: v.GenericSchema<GammaVideo10ProFastRequest> = v.lazy((request) =>
  showsImages(request) ? fastFromImage : fastFromText,
);

/** Compares each declared request with its schema, both ways: a field that one of them lacks does not compile. */
type _Declared = [
  Same<GammaVideo15ProRequest, typeof proFromText | typeof proFromImages>,
  Same<GammaVideo10ProFastRequest, typeof fastFromText | typeof fastFromImage>,
];

/** Warns about fields that the spec neither lists nor forbids (wire, 1.60). */
export function warnOfPro({ content, generate_audio }: GammaVideo15ProRequest, warn: Warn): void {
  const items: Content = content;
  if (generate_audio && count(items, "image_url") > 0)
    warn("generate_audio", "audio-with-images", "is described for text-to-video; it may have no effect here");
  if (count(items, "last_frame") > 0 && count(items, "first_frame") === 0)
    warn(
      "content",
      "last-frame-alone",
      "has a last_frame without a first_frame, which the spec does not list",
    );
}
