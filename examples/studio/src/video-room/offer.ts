import { type VideoModel, videoModels } from "@sluice/core";

/** What a video may start from, in the gateway's words. */
export type MediaKind =
  | "first_frame"
  | "last_frame"
  | "reference_image"
  | "reference_video"
  | "reference_audio"
  | "file"
  | "link";

/** A switch of some models, in the gateway's words. */
export type SwitchName =
  | "audio"
  | "generate_audio"
  | "prompt_extend"
  | "camera_fixed"
  | "return_last_frame"
  | "watermark";

/** What a model takes of one kind. */
export interface MediaOffer {
  readonly kind: MediaKind;
  readonly most: number | undefined;
  /** The files that may be chosen; none where the gateway wants a link. */
  readonly accept: string | undefined;
}

/** What a model accepts, as a form shows it. */
export interface Offer {
  readonly resolutions: readonly string[];
  readonly resolutionDefault: string | undefined;
  readonly ratios: readonly string[];
  readonly ratioDefault: string | undefined;
  readonly duration: { readonly min: number; readonly max: number; readonly auto?: number };
  readonly durationDefault: number | undefined;
  readonly seed: { readonly min: number; readonly max: number } | undefined;
  /** With what each is if nobody touches it. */
  readonly switches: Partial<Readonly<Record<SwitchName, boolean>>>;
  readonly media: readonly MediaOffer[];
}

export const models = Object.keys(videoModels) as VideoModel[];

const IMAGES = "image/png,image/jpeg,image/webp";

/** What `model` accepts; `hasImages` as some of it is for text alone. */
export function offerOf(model: VideoModel, hasImages: boolean): Offer {
  const row = videoModels[model];
  return {
    resolutions: row.resolutions,
    resolutionDefault: "resolutionDefault" in row ? row.resolutionDefault : undefined,
    ratios: "textRatios" in row && !hasImages ? row.textRatios : row.ratios,
    ratioDefault:
      "textRatioDefault" in row && !hasImages
        ? row.textRatioDefault
        : "ratioDefault" in row
          ? row.ratioDefault
          : undefined,
    duration: row.duration,
    durationDefault: "durationDefault" in row ? row.durationDefault : undefined,
    seed: "seed" in row ? row.seed : undefined,
    switches: switchesOf(model, hasImages),
    media: mediaOf(model),
  };
}

function switchesOf(model: VideoModel, hasImages: boolean): Offer["switches"] {
  const row = videoModels[model];
  if (row.family === "beta")
    return {
      audio: row.audioDefault,
      prompt_extend: row.promptExtendDefault,
      watermark: row.watermarkDefault,
    };
  if (row.family === "2-0" || row.family === "fast")
    return {
      generate_audio: false,
      ...(row.returnLastFrame && { return_last_frame: false }),
      watermark: false,
    };
  return {
    ...(row.generateAudio && { generate_audio: row.generateAudioDefault }),
    ...(!hasImages && { camera_fixed: row.cameraFixedDefault }),
    watermark: row.watermarkDefault,
  };
}

function mediaOf(model: VideoModel): readonly MediaOffer[] {
  const row = videoModels[model];
  if (row.family === "beta")
    return [...row.frames, ...row.references].map((kind) => ({
      kind,
      most: row.most[kind],
      accept: row.kinds[kind] === "image" ? IMAGES : undefined,
    }));
  const takesFiles = row.family === "2-0" || row.family === "fast";
  return row.roles.map((kind) => ({
    kind,
    most: kind === "reference_image" ? undefined : 1,
    accept: takesFiles ? IMAGES : undefined,
  }));
}
