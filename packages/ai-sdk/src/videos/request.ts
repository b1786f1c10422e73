import type {
  Experimental_VideoModelV4CallOptions as CallOptions,
  Experimental_VideoModelV4File as VideoFile,
} from "@ai-sdk/provider";
import type { VideoRequest } from "@sluice/core";
import { findVideoModel } from "@sluice/core/internal";
import { addressOf } from "../base/files.js";
import { fieldsOf } from "../base/provider-options.js";
import { createWarnings } from "../base/warnings.js";

/** A file of a request, with its use. */
interface Medium {
  readonly kind: "image" | "video" | "audio";
  readonly role: "first_frame" | "last_frame" | "reference";
  readonly url: string;
}

/**
 * Writes a call of the SDK as a request. What the model does not accept is written, too, and refused by the rules before
 * anything is sent: another resolution than the one that was asked for would be paid.
 */
export async function requestOf(model: string, options: CallOptions) {
  const row = findVideoModel(model);
  const warnings = createWarnings();
  if (options.fps !== undefined) warnings.unsupported("fps");
  const media = await mediaOf(options);
  const common = settingsOf(options, row?.resolutions);
  const more = fieldsOf(options.providerOptions);
  const { prompt, generateAudio } = options;
  // a silent model has no field for it
  const isSilent = row?.family === "1-0-pro-fast" && generateAudio === false;
  const hasAudio = generateAudio !== undefined && !isSilent;
  const body =
    row?.family === "beta"
      ? {
          model,
          input: {
            ...(prompt !== undefined && { prompt }),
            ...(media.length > 0 && { media: media.map(betaItem) }),
          },
          parameters: { ...common, ...(hasAudio && { audio: generateAudio }), ...more },
        }
      : {
          ...common,
          ...(hasAudio && { generate_audio: generateAudio }),
          ...more,
          model,
          content: [...(prompt ? [{ type: "text", text: prompt }] : []), ...media.map(gammaItem)],
        };
  return { body: body as unknown as VideoRequest, checks: row !== undefined, warnings: warnings.list };
}

function settingsOf({ resolution, duration, aspectRatio, seed }: CallOptions, known: readonly string[] = []) {
  return {
    ...(resolution !== undefined && { resolution: resolutionOf(resolution, known) }),
    ...(duration !== undefined && { duration }),
    ...(aspectRatio !== undefined && { ratio: aspectRatio }),
    ...(seed !== undefined && { seed }),
  };
}

/** Writes `1280x720` as the model does: by the shorter side, `720P` or `720p`. */
function resolutionOf(resolution: string, known: readonly string[]): string {
  const height = Math.min(...resolution.split("x").map(Number));
  const name = height === 2160 ? "4k" : `${height}p`;
  return known.find((one) => one.toLowerCase() === name) ?? name;
}

async function mediaOf({ image, frameImages = [], inputReferences = [] }: CallOptions): Promise<Medium[]> {
  const hasFirst = frameImages.some(({ frameType }) => frameType === "first_frame");
  const frames =
    image && !hasFirst ? [{ frameType: "first_frame" as const, image }, ...frameImages] : frameImages;
  return Promise.all([
    ...frames.map(async ({ frameType, image }) => ({
      kind: "image" as const,
      role: frameType,
      url: await addressOf(image),
    })),
    ...inputReferences.map(async (file) => ({
      kind: kindOf(file),
      role: "reference" as const,
      url: await addressOf(file),
    })),
  ]);
}

/** Finds the kind of a reference. A link without a type may be an `asset://` or an image. */
function kindOf(file: VideoFile): Medium["kind"] {
  const type = file.mediaType ?? "";
  if (type.startsWith("video/") || (file.type === "url" && /\.(mp4|mov|webm)(\?|$)/i.test(file.url)))
    return "video";
  return type.startsWith("audio/") ? "audio" : "image";
}

function betaItem({ kind, role, url }: Medium) {
  return { type: role === "reference" ? `reference_${kind}` : role, url };
}

function gammaItem({ kind, role, url }: Medium) {
  const name = `${kind}_url`;
  // only the roles of images are known
  const use = role === "reference" ? `reference_${kind}` : role;
  return { type: name, [name]: { url }, ...(kind === "image" && { role: use }) };
}
