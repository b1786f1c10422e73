import { checkVideoRequest, type VideoModel, videoModels } from "@sluice/core/schemas";

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
  | "web_search"
  | "watermark";

/** What a switch shows if nobody touches it, and whether the gateway's specification says so. */
interface SwitchOffer {
  readonly isOn: boolean;
  readonly isSaid: boolean;
}

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
  readonly switches: Partial<Readonly<Record<SwitchName, SwitchOffer>>>;
  readonly media: readonly MediaOffer[];
}

export const models = Object.keys(videoModels) as VideoModel[];

const IMAGES = "image/png,image/jpeg,image/webp";

/** What `model` accepts; `hasMedia` as some of it is for text alone. */
export function offerOf(model: VideoModel, hasMedia: boolean): Offer {
  const row = videoModels[model];
  return {
    resolutions: row.resolutions,
    resolutionDefault: "resolutionDefault" in row ? row.resolutionDefault : undefined,
    ratios: "textRatios" in row && !hasMedia ? row.textRatios : row.ratios,
    ratioDefault:
      "textRatioDefault" in row && !hasMedia
        ? row.textRatioDefault
        : "ratioDefault" in row
          ? row.ratioDefault
          : undefined,
    duration: row.duration,
    durationDefault: "durationDefault" in row ? row.durationDefault : undefined,
    seed: "seed" in row ? row.seed : undefined,
    switches: switchesOf(model, hasMedia),
    media: mediaOf(model),
  };
}

function switchesOf(model: VideoModel, hasMedia: boolean): Offer["switches"] {
  const row = videoModels[model];
  if (row.family === "beta")
    return {
      audio: by(row.audioDefault),
      prompt_extend: by(row.promptExtendDefault),
      watermark: by(row.watermarkDefault),
    };
  if (row.family === "2-0" || row.family === "fast")
    return {
      generate_audio: by(undefined),
      ...(!hasMedia && takes(model, { tools: [{ type: "web_search" }] }) && { web_search: by(false) }),
      ...(row.returnLastFrame && { return_last_frame: by(undefined) }),
      watermark: by(undefined),
    };
  return {
    ...(row.generateAudio && { generate_audio: by(row.generateAudioDefault) }),
    ...(!hasMedia && { camera_fixed: by(row.cameraFixedDefault) }),
    watermark: by(row.watermarkDefault),
  };
}

const by = (said: boolean | undefined): SwitchOffer => ({
  isOn: said ?? false,
  isSaid: said !== undefined,
});

function mediaOf(model: VideoModel): readonly MediaOffer[] {
  const row = videoModels[model];
  if (row.family === "beta")
    return [...row.frames, ...row.references].map((kind) => ({
      kind,
      most: row.most[kind],
      accept: row.kinds[kind] === "image" ? IMAGES : undefined,
    }));
  const takesFiles = row.family === "2-0" || row.family === "fast";
  const images = row.roles.map((kind) => ({
    kind,
    most: kind === "reference_image" ? undefined : 1,
    accept: takesFiles ? IMAGES : undefined,
  }));
  const video = { type: "video_url", video_url: { url: ANY } };
  const audio = { type: "audio_url", audio_url: { url: ANY } };
  const byLink = (kind: MediaKind) => ({ kind, most: undefined, accept: undefined });
  return [
    ...images,
    ...(takes(model, { content: [video] }) ? [byLink("reference_video")] : []),
    // no model takes sounds alone
    ...(takes(model, { content: [video, audio] }) ? [byLink("reference_audio")] : []),
  ];
}

const ANY = "https://example.com/";

/** What no table lists, the rules know: whether they let `fields` through. */
function takes(model: VideoModel, fields: object): boolean {
  const text = { type: "text", text: "A reef" };
  return checkVideoRequest({ model, content: [text], ...fields }).issues.length === 0;
}
