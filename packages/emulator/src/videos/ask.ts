import { type VideoModel, videoModels } from "@sluice/core/schemas";
import { cut } from "../cut.js";
import { readVideoCues, type VideoCues } from "./scenes.js";

/** The fields of a request that decide what is made; the rules have been checked. */
export interface VideoRequestBody {
  readonly model: VideoModel;
  readonly input?: { readonly prompt?: string; readonly media?: readonly MediaItem[] };
  readonly parameters?: Settings;
  readonly content?: readonly ContentItem[];
  readonly ratio?: string;
  readonly resolution?: string;
  readonly duration?: number;
  readonly seed?: number;
  readonly return_last_frame?: boolean;
}

interface MediaItem {
  readonly type: string;
  readonly url: string;
}

/** An item of `content`; the address is in the field that its type names. */
export interface ContentItem {
  readonly type: string;
  readonly text?: string;
  readonly role?: string;
  readonly [address: string]: unknown;
}

type Settings = Pick<VideoRequestBody, "ratio" | "resolution" | "duration" | "seed">;

/** How a model's tasks are shown. */
export type VideoFamily = "beta" | "gamma-1" | "gamma-2";

/** What a request asks for, read once: the families' requests in one shape, defaults filled in. */
export interface VideoAsk {
  readonly model: VideoModel;
  readonly family: VideoFamily;
  /** As it came, cues included; the first 5,000 characters, which is all that `beta` may send. */
  readonly prompt: string;
  /** The scenes; their text is cut likewise, because tasks are kept. */
  readonly cues: VideoCues;
  readonly action: "generate" | "firstTailGenerate";
  readonly resolution: string;
  readonly ratio: string;
  /** Seconds of the result. */
  readonly duration: number;
  /** Seconds of the videos it starts from. */
  readonly inputDuration: number;
  readonly seed: number;
  readonly returnsLastFrame: boolean;
}

const MOST_PROMPT = 5000;
const USUAL_SECONDS = 5;
/** What a model that may choose chooses. */
const CHOSEN_SECONDS = 8;
/** Nobody downloads a reference video here to see how long it is. */
const REFERENCE_SECONDS = 3;

/** Reads a request that has passed the gateway's rules. */
export function readVideoAsk(request: VideoRequestBody): VideoAsk {
  const { model, input, content = [] } = request;
  const settings: Settings = (input ? request.parameters : request) ?? {};
  const prompt = input ? (input.prompt ?? "") : content.flatMap(({ text }) => text ?? []).join("\n");
  const cues = readVideoCues(prompt);
  const marks = input
    ? (input.media ?? []).map(({ type }) => type)
    : content.map(({ type, role }) => role ?? type);
  const row = videoModels[model];
  const videos = marks.filter((mark) => mark === "reference_video" || mark === "video_url").length;
  return {
    model,
    family: input ? "beta" : row.family === "2-0" || row.family === "fast" ? "gamma-2" : "gamma-1",
    prompt: cut(prompt, MOST_PROMPT),
    cues: { ...cues, text: cut(cues.text, MOST_PROMPT) },
    action: marks.includes("first_frame") && marks.includes("last_frame") ? "firstTailGenerate" : "generate",
    resolution: settings.resolution ?? ("resolutionDefault" in row ? row.resolutionDefault : "720p"),
    // the one video there is has this ratio, whatever the source was
    ratio: settings.ratio === undefined || settings.ratio === "adaptive" ? "16:9" : settings.ratio,
    duration: settings.duration === -1 ? CHOSEN_SECONDS : (settings.duration ?? USUAL_SECONDS),
    inputDuration: videos * REFERENCE_SECONDS,
    seed: settings.seed ?? -1,
    returnsLastFrame: request.return_last_frame ?? false,
  };
}
