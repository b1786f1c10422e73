import type { VideoModel } from "@sluice/core";
import { isRecord } from "@sluice/core/extend";
import { models } from "@sluice/core/schemas";
import { priceSeconds, priceTokens } from "./money.js";
import type { Rates } from "./prices.js";
import { type CostOrReason, findRate } from "./tally.js";

/** The metadata that decides the cost of a video. Undefined fields are unknown. */
export interface VideoMetadata {
  readonly seconds: number | undefined;
  readonly resolution: string | undefined;
  readonly hasAudio: boolean | undefined;
  /** Seconds of the request's reference videos. */
  readonly inputSeconds: number | undefined;
  readonly tokens: number | undefined;
}

/** Calculates the cost of a video: by seconds if the model has a price per second, otherwise by tokens. */
export function calculateVideoCost(rates: Rates, metadata: VideoMetadata): CostOrReason {
  const { seconds, resolution, tokens, inputSeconds } = metadata;
  if (rates.second === undefined) {
    if (rates.output === undefined) return "no-price";
    return tokens === undefined ? "no-usage" : priceTokens(rates.output as bigint, tokens);
  }
  const price = findSecondPrice(rates, metadata);
  if (typeof price !== "bigint") return price;
  const inputPrice = rates.inputSecond === undefined ? 0n : findRate(rates, "inputSecond", resolution);
  if (typeof inputPrice !== "bigint") return inputPrice;
  if (seconds === undefined || (inputPrice > 0n && inputSeconds === undefined)) return "no-usage";
  return priceSeconds(price, seconds) + priceSeconds(inputPrice, inputSeconds ?? 0);
}

function findSecondPrice(rates: Rates, { resolution, hasAudio }: VideoMetadata): CostOrReason {
  const silent = findRate(rates, "second", resolution);
  if (rates.secondWithAudio === undefined) return silent;
  const withAudio = findRate(rates, "secondWithAudio", resolution);
  if (hasAudio !== undefined) return hasAudio ? withAudio : silent;
  return silent === withAudio ? silent : "no-usage";
}

/** Reads the metadata from a request. Missing fields have the model's default, if the spec shows one. */
export function readRequestMetadata(request: object): VideoMetadata {
  const { model, parameters, input, content, ...fields } = request as Readonly<Record<string, unknown>>;
  const settings = isRecord(parameters) ? { ...fields, ...parameters } : fields;
  const row: Defaults = findVideoModel(String(model)) ?? {};
  const duration = readNumber(settings["duration"] ?? row.durationDefault);
  const resolution = settings["resolution"] ?? row.resolutionDefault;
  const audio =
    settings["audio"] ?? settings["generate_audio"] ?? row.audioDefault ?? row.generateAudioDefault;
  const items = [isRecord(input) ? input["media"] : [], content].flat();
  const refersToVideo = items.some((item) => isRecord(item) && String(item["type"]).includes("video"));
  return {
    seconds: duration,
    resolution: typeof resolution === "string" ? resolution : undefined,
    hasAudio: row.generateAudio === false ? false : typeof audio === "boolean" ? audio : undefined,
    inputSeconds: refersToVideo ? undefined : 0,
    tokens: undefined,
  };
}

/** Finds the row of a video model; undefined for an unknown id. */
export function findVideoModel(id: string): (typeof models)[VideoModel] | undefined {
  const row = models[id as VideoModel];
  return row?.kind === "video" ? row : undefined;
}

interface Defaults {
  readonly family?: string;
  readonly durationDefault?: number;
  readonly resolutionDefault?: string;
  readonly audioDefault?: boolean;
  readonly generateAudioDefault?: boolean;
  /** False for a model without sound. */
  readonly generateAudio?: boolean;
}

/**
 * Reads the metadata from a task response: `usage` of beta models, and sibling fields of other models. The response may
 * wrap them in several levels of `data` (spec, Video task).
 */
export function readReportedMetadata(raw: unknown): Partial<VideoMetadata> {
  let metadata: Partial<VideoMetadata> = {};
  for (let level = raw; isRecord(level); level = level["data"])
    metadata = { ...metadata, ...omitUndefined(readMetadata(level)) };
  return metadata;
}

function readMetadata(level: Readonly<Record<string, unknown>>): Partial<VideoMetadata> {
  const usage = isRecord(level["usage"]) ? level["usage"] : {};
  const { SR, output_video_duration: outputDuration, duration, input_video_duration: inputDuration } = usage;
  const { resolution } = level;
  return {
    seconds: readNumber(outputDuration) ?? readNumber(duration) ?? readNumber(level["duration"]),
    resolution:
      readNumber(SR) === undefined ? (typeof resolution === "string" ? resolution : undefined) : `${SR}p`,
    inputSeconds: readNumber(inputDuration),
    tokens: readCount(usage["completion_tokens"]) ?? readCount(usage["total_tokens"]),
  };
}

/** Removes undefined fields. */
export function omitUndefined<Fields extends object>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<Fields>;
}

/** Reads a quantity; undefined for other values, such as -1, which lets the model choose. */
function readNumber(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value < Number.MAX_SAFE_INTEGER ? value : undefined;
}

/** Reads a count; undefined for other values. */
export function readCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
