import { findVideoModel } from "@sluice/core/internal";
import { isRecord } from "./is-record.js";
import { ofSeconds, ofTokens } from "./money.js";
import type { Rates } from "./prices.js";
import { type Known, rateOf } from "./tally.js";

/** The facts that decide the cost of a video. A fact that is undefined is not known. */
export interface VideoFacts {
  readonly seconds: number | undefined;
  readonly resolution: string | undefined;
  readonly hasAudio: boolean | undefined;
  /** Seconds of the videos that the request refers to. */
  readonly inputSeconds: number | undefined;
  readonly tokens: number | undefined;
}

/** Counts the cost of a video: by its seconds where the model has a price for them, otherwise by its tokens. */
export function videoCost(rates: Rates, facts: VideoFacts): Known {
  const { seconds, resolution, tokens, inputSeconds } = facts;
  if (rates.second === undefined) {
    if (rates.output === undefined) return "no-price";
    return tokens === undefined ? "no-usage" : ofTokens(rates.output as bigint, tokens);
  }
  const price = secondPrice(rates, facts);
  if (typeof price !== "bigint") return price;
  const inputPrice = rates.inputSecond === undefined ? 0n : rateOf(rates, "inputSecond", resolution);
  if (typeof inputPrice !== "bigint") return inputPrice;
  if (seconds === undefined || (inputPrice > 0n && inputSeconds === undefined)) return "no-usage";
  return ofSeconds(price, seconds) + ofSeconds(inputPrice, inputSeconds ?? 0);
}

function secondPrice(rates: Rates, { resolution, hasAudio }: VideoFacts): Known {
  const silent = rateOf(rates, "second", resolution);
  if (rates.secondWithAudio === undefined) return silent;
  const loud = rateOf(rates, "secondWithAudio", resolution);
  if (hasAudio !== undefined) return hasAudio ? loud : silent;
  return silent === loud ? silent : "no-usage";
}

/** Reads the facts of a request. Fields that it leaves out have the model's default, where the spec shows one. */
export function requestedFacts(request: object): VideoFacts {
  const { model, parameters, input, content, ...fields } = request as Readonly<Record<string, unknown>>;
  const of = isRecord(parameters) ? { ...fields, ...parameters } : fields;
  const row: Defaults = findVideoModel(String(model)) ?? {};
  const duration = numberOf(of["duration"] ?? row.durationDefault);
  const resolution = of["resolution"] ?? row.resolutionDefault;
  const audio = of["audio"] ?? of["generate_audio"] ?? row.audioDefault ?? row.generateAudioDefault;
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

interface Defaults {
  readonly family?: string;
  readonly durationDefault?: number;
  readonly resolutionDefault?: string;
  readonly audioDefault?: boolean;
  readonly generateAudioDefault?: boolean;
  /** False for a model whose videos are always silent. */
  readonly generateAudio?: boolean;
}

/**
 * Reads the facts that an answer about a task reports: `usage` of beta models, and the fields beside it of others. They
 * stand in `data`, as deep as the answer is wrapped (spec, Video task).
 */
export function reportedFacts(raw: unknown): Partial<VideoFacts> {
  let facts: Partial<VideoFacts> = {};
  for (let at = raw; isRecord(at); at = at["data"]) facts = { ...facts, ...known(factsAt(at)) };
  return facts;
}

function factsAt(at: Readonly<Record<string, unknown>>): Partial<VideoFacts> {
  const usage = isRecord(at["usage"]) ? at["usage"] : {};
  const { SR, output_video_duration: made, duration, input_video_duration: given } = usage;
  const { resolution } = at;
  return {
    seconds: numberOf(made) ?? numberOf(duration) ?? numberOf(at["duration"]),
    resolution:
      numberOf(SR) === undefined ? (typeof resolution === "string" ? resolution : undefined) : `${SR}p`,
    inputSeconds: numberOf(given),
    tokens: countOf(usage["completion_tokens"]) ?? countOf(usage["total_tokens"]),
  };
}

/** Leaves out the fields that are undefined. */
export function known<Facts extends object>(facts: Facts): Partial<Facts> {
  return Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== undefined)) as Partial<Facts>;
}

/** Reads a quantity; undefined for what is none, as -1 is, with which the model chooses. */
function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value < Number.MAX_SAFE_INTEGER ? value : undefined;
}

/** Reads a count; undefined for what is none. */
export function countOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
