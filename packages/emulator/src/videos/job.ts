import type { VideoModel } from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { cut } from "../server/cut.js";
import { faultTables } from "../server/fault-tables.js";
import { type Faults, readFaults } from "../server/faults.js";

/** Fields of a validated request that decide the video. */
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

/** Item of `content`. Its URL is in the field that `type` names. */
export interface ContentItem {
  readonly type: string;
  readonly text?: string;
  readonly role?: string;
  readonly [field: string]: unknown;
}

type Settings = Pick<VideoRequestBody, "ratio" | "resolution" | "duration" | "seed">;

/** Family of a video model. */
export type VideoFamily = (typeof models)[VideoModel]["family"];

/** A request of any family in one shape, with defaults filled in. */
export interface VideoJob {
  readonly model: VideoModel;
  readonly family: VideoFamily;
  /** Prompt with its faults, cut to 5,000 characters, the limit of `beta`. */
  readonly prompt: string;
  /** Faults of the prompt. Their text is cut too, because tasks are stored. */
  readonly faults: Faults<keyof typeof faultTables.videos>;
  readonly action: "generate" | "firstTailGenerate";
  readonly resolution: string;
  readonly ratio: string;
  /** Length of the result, in seconds. */
  readonly duration: number;
  /** Length of the reference videos, in seconds. */
  readonly inputDuration: number;
  readonly seed: number;
  readonly returnsLastFrame: boolean;
}

const MAX_PROMPT_CHARACTERS = 5000;
/** Duration if neither the request nor the table of models has one. */
const USUAL_SECONDS = 5;
/** Duration of a request that leaves the choice to the model (-1). */
const CHOSEN_SECONDS = 8;
/** Assumed length of a reference video. No video is downloaded. */
const REFERENCE_SECONDS = 3;

/**
 * Reads a validated request.
 *
 * @param scriptedFaults faults of the script, `[[drop]]`
 */
export function readVideoJob(request: VideoRequestBody, scriptedFaults?: string): VideoJob {
  const { model, input, content = [] } = request;
  const settings: Settings = (input ? request.parameters : request) ?? {};
  const prompt = input ? (input.prompt ?? "") : content.flatMap(({ text }) => text ?? []).join("\n");
  const faults = readFaults(prompt, faultTables.videos, scriptedFaults);
  // a role, as in "first_frame", or the type of an item without a role
  const roles = input
    ? (input.media ?? []).map(({ type }) => type)
    : content.map(({ type, role }) => role ?? type);
  const row = models[model];
  const durationDefault = "durationDefault" in row ? row.durationDefault : USUAL_SECONDS;
  const videos = roles.filter((role) => role === "reference_video" || role === "video_url").length;
  return {
    model,
    family: row.family,
    prompt: cut(prompt, MAX_PROMPT_CHARACTERS),
    faults: { ...faults, text: cut(faults.text, MAX_PROMPT_CHARACTERS) },
    action: roles.includes("first_frame") && roles.includes("last_frame") ? "firstTailGenerate" : "generate",
    resolution: settings.resolution ?? ("resolutionDefault" in row ? row.resolutionDefault : "720p"),
    ratio: settings.ratio === undefined || settings.ratio === "adaptive" ? "16:9" : settings.ratio,
    duration: settings.duration === -1 ? CHOSEN_SECONDS : (settings.duration ?? durationDefault),
    inputDuration: videos * REFERENCE_SECONDS,
    seed: settings.seed ?? -1,
    returnsLastFrame: request.return_last_frame ?? false,
  };
}
