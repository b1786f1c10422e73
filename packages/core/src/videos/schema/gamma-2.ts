import * as v from "valibot";
import { refusing, rule, type Same, type Warn, wholeNumber } from "../../base/validate.js";
import { isAssetURI, isHTTP, isImageDataURI } from "../../base/web-address.js";
import { videoModels } from "../../vocabulary/models.js";
import { durationWithin } from "./duration.js";
import { videoText } from "./gamma-1.js";
import type { GammaVideo20Request, GammaVideoFastRequest } from "./gamma-2-body.js";

const full = videoModels["gamma-video-2.0"];
const fast = videoModels["gamma-video-fast"];

const isLookupURL = (url: unknown) => typeof url === "object" && url !== null && "forDisplayOnly" in url;

const imageURL = v.pipe(
  v.string(({ input }) =>
    isLookupURL(input)
      ? "is the temporary URL of an asset lookup; give the asset's uri, asset://<id>"
      : "must be a string",
  ),
  v.check(
    (url) => isHTTP(url) || isAssetURI(url) || isImageDataURI(url),
    "must be an http(s) URL, a Base64 data URI of an image, or asset://<id> of a registered asset",
  ),
);
const fileURL = v.pipe(v.string(), v.check(isHTTP, "must be an http(s) URL that the gateway can download"));

/** An image item of `content`. `role` may name its use: `first_frame`, `last_frame`, `reference_image`. */
export const gamma2Image = v.object({
  type: v.literal("image_url"),
  image_url: v.object({ url: imageURL }),
  role: v.optional(v.string()),
});
/** A video item of `content`. The spec does not show its shape: this one is our assumption. */
export const gamma2Video = v.object({
  type: v.literal("video_url"),
  video_url: v.object({ url: fileURL }),
  role: v.optional(v.string()),
});
/** An audio item of `content`. The spec does not show its shape: this one is our assumption. */
export const gamma2Audio = v.object({
  type: v.literal("audio_url"),
  audio_url: v.object({ url: fileURL }),
  role: v.optional(v.string()),
});

const item = v.variant("type", [videoText, gamma2Image, gamma2Video, gamma2Audio]);
type Items = v.InferInput<typeof item>[];
type Content = readonly { readonly type: string; readonly role?: string | undefined }[];

const has = (content: Content, ...types: string[]) => content.some(({ type }) => types.includes(type));

const content = v.pipe(
  v.array(item),
  rule<Items>("content-empty", (items) => items.length > 0, "must have at least one item"),
  rule<Items>(
    "audio-needs-picture",
    (items) => !has(items, "audio_url") || has(items, "image_url", "video_url"),
    "has audio without an image or a video; add one of them",
  ),
);

/** Fields that both models share. */
function fieldsOf(row: typeof full | typeof fast) {
  return {
    content,
    generate_audio: v.optional(v.boolean()),
    ratio: v.optional(v.picklist(row.ratios)),
    duration: v.optional(durationWithin(row.duration)),
    tools: v.optional(v.array(v.object({ type: v.literal("web_search") }))),
    watermark: v.optional(v.boolean()),
    // not listed for these models: sent with a warning
    seed: v.optional(wholeNumber()),
    camera_fixed: v.optional(v.boolean()),
  };
}

const searchNeedsText = <Request extends { content: Content; tools?: readonly unknown[] | undefined }>() =>
  rule<Request>(
    "tools-need-text-only",
    ({ content, tools }) => !tools?.length || content.every(({ type }) => type === "text"),
    "web search works in text-to-video only; leave out tools, or all media of content",
  );

const fullFields = {
  model: v.literal("gamma-video-2.0"),
  ...fieldsOf(full),
  resolution: v.optional(v.picklist(full.resolutions)),
  return_last_frame: v.optional(v.boolean()),
  ...refusing(full.denied),
};
const fastFields = {
  model: v.literal("gamma-video-fast"),
  ...fieldsOf(fast),
  resolution: v.optional(v.picklist(fast.resolutions)),
  ...refusing(fast.denied),
};

/** Schema of a request to `gamma-video-2.0`. */
export const gammaVideo20Request: v.GenericSchema<GammaVideo20Request> = v.pipe(
  v.object(fullFields),
  v.forward(searchNeedsText(), ["tools"]),
);
/** Schema of a request to `gamma-video-fast`. */
export const gammaVideoFastRequest: v.GenericSchema<GammaVideoFastRequest> = v.pipe(
  v.object(fastFields),
  v.forward(searchNeedsText(), ["tools"]),
);

/** Compares each declared request with its schema, both ways: a field that one of them lacks does not compile. */
type _Declared = [
  Same<GammaVideo20Request, v.ObjectSchema<typeof fullFields, undefined>>,
  Same<GammaVideoFastRequest, v.ObjectSchema<typeof fastFields, undefined>>,
];

/** Warns about fields that the spec neither lists nor forbids (wire, 1.63). */
export function warnOfGamma2(request: GammaVideo20Request | GammaVideoFastRequest, warn: Warn): void {
  const roles: readonly string[] = full.roles;
  for (const field of ["seed", "camera_fixed"] as const)
    if (request[field] !== undefined)
      warn(field, `${field.replace("_", "-")}-unlisted`, "is not listed for this model; it may be ignored");
  for (const [index, { role }] of (request.content as Content).entries())
    if (role !== undefined && !roles.includes(role))
      warn(
        `content.${index}.role`,
        "role-unlisted",
        `is none of the roles that are known: ${roles.join(", ")}`,
      );
}
