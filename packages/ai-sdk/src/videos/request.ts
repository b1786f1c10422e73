import type {
  Experimental_VideoModelV4CallOptions as CallOptions,
  Experimental_VideoModelV4File as VideoFile,
} from "@ai-sdk/provider";
import type { VideoModel, VideoRequest } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { toURL } from "../base/files.js";
import { readFields } from "../base/provider-options.js";
import { createWarnings } from "../base/warnings.js";

/** A file of a request. */
interface MediaItem {
  readonly kind: "image" | "video" | "audio";
  readonly role: "first_frame" | "last_frame" | "reference";
  readonly url: string;
}

/**
 * Converts a call of the SDK to a request. Keeps settings that the model does not accept: the client's rules refuse them
 * before anything is sent. A video with a silently changed resolution would be paid.
 */
export async function toRequest(model: string, options: CallOptions) {
  const known = models[model as VideoModel];
  const row = known?.kind === "video" ? known : undefined;
  const warnings = createWarnings();
  if (options.fps !== undefined) warnings.unsupported("fps");
  const media = await readMedia(options);
  const common = toSettings(options, row?.resolutions);
  const providerFields = readFields(options.providerOptions);
  const { prompt, generateAudio } = options;
  // a model without sound lacks this field
  const isSilent = row?.family === "1-0-pro-fast" && generateAudio === false;
  const hasAudio = generateAudio !== undefined && !isSilent;
  const body: object =
    row?.family === "beta"
      ? {
          model,
          input: {
            ...(prompt !== undefined && { prompt }),
            ...(media.length > 0 && { media: media.map(toBetaItem) }),
          },
          parameters: { ...common, ...(hasAudio && { audio: generateAudio }), ...providerFields },
        }
      : {
          ...common,
          ...(hasAudio && { generate_audio: generateAudio }),
          ...providerFields,
          model,
          content: [...(prompt ? [{ type: "text", text: prompt }] : []), ...media.map(toGammaItem)],
        };
  // the client checks the request of a known model
  return { body: body as VideoRequest, checks: row !== undefined, warnings: warnings.list };
}

function toSettings({ resolution, duration, aspectRatio, seed }: CallOptions, known: readonly string[] = []) {
  return {
    ...(resolution !== undefined && { resolution: toResolution(resolution, known) }),
    ...(duration !== undefined && { duration }),
    ...(aspectRatio !== undefined && { ratio: aspectRatio }),
    ...(seed !== undefined && { seed }),
  };
}

/** Converts `1280x720` to the name of the model: the shorter side as `720P` or `720p`. */
function toResolution(resolution: string, known: readonly string[]): string {
  const height = Math.min(...resolution.split("x").map(Number));
  const name = height === 2160 ? "4k" : `${height}p`;
  return known.find((resolutionName) => resolutionName.toLowerCase() === name) ?? name;
}

async function readMedia({
  image,
  frameImages = [],
  inputReferences = [],
}: CallOptions): Promise<MediaItem[]> {
  const hasFirst = frameImages.some(({ frameType }) => frameType === "first_frame");
  const frames =
    image && !hasFirst ? [{ frameType: "first_frame" as const, image }, ...frameImages] : frameImages;
  return Promise.all([
    ...frames.map(async ({ frameType, image }) => ({
      kind: "image" as const,
      role: frameType,
      url: await toURL(image),
    })),
    ...inputReferences.map(async (file) => ({
      kind: findKind(file),
      role: "reference" as const,
      url: await toURL(file),
    })),
  ]);
}

/** Finds the kind of a reference. A link without a type may be an `asset://` or an image. */
function findKind(file: VideoFile): MediaItem["kind"] {
  const type = file.mediaType ?? "";
  if (type.startsWith("video/") || (file.type === "url" && /\.(mp4|mov|webm)(\?|$)/i.test(file.url)))
    return "video";
  return type.startsWith("audio/") ? "audio" : "image";
}

function toBetaItem({ kind, role, url }: MediaItem) {
  return { type: role === "reference" ? `reference_${kind}` : role, url };
}

function toGammaItem({ kind, role, url }: MediaItem) {
  const name = `${kind}_url`;
  // only images have known roles
  const itemRole = role === "reference" ? `reference_${kind}` : role;
  return { type: name, [name]: { url }, ...(kind === "image" && { role: itemRole }) };
}
