import type { Issue } from "@sluice/core";
import { inputAndOutputSeconds, type MediaLimits, type MediaUse, mediaLimits } from "./limits.js";
import { type MediaProbe, type ProbeOptions, probeMedia } from "./probe.js";

/** A file and its use. */
export interface MediaEntry {
  /** The file, or the result of `probeMedia` for it. */
  readonly media: Blob | MediaProbe;
  /** Role of the file in a request. It decides the limits. */
  readonly use: MediaUse;
  /** Path of the file in the request, for the issues. @default the path of the list, and the index of the file */
  readonly path?: string;
}

/** Options of {@link checkMedia}. */
export interface CheckOptions extends ProbeOptions {
  /** Path of the list in the request, for the issues. @default "input.media" */
  readonly path?: string;
  /**
   * `parameters.duration` of the request, which is 5 by default. −1 leaves the choice to the model and is not counted.
   */
  readonly outputSeconds?: number;
}

/**
 * Checks files against the limits of their use (spec, Family `beta`), if their bytes can be read: each file, and the
 * total seconds of all videos and of all audio files. Limits are exact: 15.02 s is more than 15 s. The check of the
 * request limits the number of files.
 *
 * @returns The broken rules, in the form of the request checks; empty when all files are accepted.
 * @throws {ConfigurationError} for a video or an audio file without `parser`
 * @throws {ValidationError} for anything but a readable `Blob`; throws the signal's reason after an abort
 * @example
 * ```ts
 * const issues = await checkMedia([{ media: file, use: "first_frame" }]);
 * // [{ path: "input.media.0", message: "must have no alpha channel: …", rule: "media.first-frame.alpha" }]
 * ```
 */
export async function checkMedia(
  files: readonly MediaEntry[],
  { path = "input.media", outputSeconds, ...options }: CheckOptions = {},
): Promise<Issue[]> {
  const probes = await Promise.all(files.map(({ media }) => toProbe(media, options)));
  const issues = files.flatMap(({ use, path: entryPath }, index) =>
    checkProbe(
      probes[index] as MediaProbe,
      mediaLimits[use],
      `media.${toDashed(use)}`,
      entryPath ?? `${path}.${index}`,
    ),
  );
  const sumSeconds = (summedUse: MediaUse) =>
    files.reduce(
      (sum, { use }, index) => sum + (use === summedUse ? (probes[index]?.durationSeconds ?? 0) : 0),
      0,
    );

  for (const use of ["reference_video", "reference_audio"] as const) {
    const { kind, secondsInAll } = mediaLimits[use];
    const seconds = sumSeconds(use);
    // a single file has its own limit
    const isSingle = files.filter((file) => file.use === use).length < 2;
    if (!isSingle && exceeds(seconds, secondsInAll)) {
      const message = `all ${kind}s together must be at most ${secondsInAll} s long, got ${round(seconds)} s`;
      issues.push({ path, message, rule: `media.${toDashed(use)}.seconds-in-all` });
    }
  }
  const input = sumSeconds("reference_video");
  if (input > 0 && outputSeconds !== undefined && exceeds(input + outputSeconds, inputAndOutputSeconds)) {
    const message = `reference videos and result together must be at most ${inputAndOutputSeconds} s long, got ${round(input)} s and ${outputSeconds} s`;
    issues.push({ path: "parameters.duration", message, rule: "media.input-and-output-seconds" });
  }
  return issues;
}

/** Returns an issue for each limit that a file breaks. Its rule is a name below `rule`. */
export function checkProbe(probe: MediaProbe, limits: MediaLimits, rule: string, path: string): Issue[] {
  const issues: Issue[] = [];
  const add = (name: string, message: string) => issues.push({ path, message, rule: `${rule}.${name}` });
  const { side, aspectRatioMax, seconds } = limits;
  const { bytes, width, height, durationSeconds } = probe;

  if (bytes === 0) add("bytes", "must not be empty");
  else if (limits.bytes !== undefined && bytes > limits.bytes)
    add("bytes", `must be at most ${toMegabytes(limits.bytes)} MB, got ${toMegabytes(bytes)} MB`);
  if (!limits.formats.includes(probe.format)) {
    const names = limits.formats.map((format) => format.toUpperCase());
    add("format", `must be ${names.slice(0, -1).join(", ")} or ${names.at(-1)}, got ${describeProbe(probe)}`);
    return issues;
  }
  if (probe.problem) add("unreadable", `${probe.problem}: the gateway could not read it`);
  // the spec has this limit for PNG only
  if (limits.alpha === false && probe.format === "png" && probe.hasAlpha)
    add("alpha", "must have no alpha channel: flatten it onto a color, in browsers with fitImage()");

  if (width !== undefined && height !== undefined) {
    const [short, long] = [Math.min(width, height), Math.max(width, height)];
    if (side && (short < side.min || long > side.max))
      add("side", `each side must be ${side.min} to ${side.max} px, got ${width} × ${height}`);
    if (aspectRatioMax !== undefined && long > short * aspectRatioMax)
      add("aspect-ratio", `must be at most ${aspectRatioMax}:1, got ${round(long / short)}:1`);
  }
  if (seconds && durationSeconds !== undefined)
    if (durationSeconds < seconds.min || exceeds(durationSeconds, seconds.max)) {
      const about = probe.durationIsEstimate ? "about " : "";
      add(
        "seconds",
        `must be ${seconds.min} to ${seconds.max} s long, got ${about}${round(durationSeconds)} s`,
      );
    }
  return issues;
}

async function toProbe(media: Blob | MediaProbe, options: ProbeOptions): Promise<MediaProbe> {
  return typeof media === "object" && media !== null && "kind" in media ? media : probeMedia(media, options);
}

/** Sums of fractions may be slightly too large. */
function exceeds(seconds: number, max: number): boolean {
  return seconds > max + 1e-6;
}

function describeProbe({ type, name, format, problem }: MediaProbe): string {
  if (problem) return `a file that ${problem}`;
  if (type !== "application/octet-stream") return type;
  if (name === undefined) return "a Blob without a name: give it one with new File([blob], name)";
  return format === "" ? "a name without an extension" : `.${format}`;
}

const toDashed = (name: string) => name.replaceAll("_", "-");
const round = (value: number) => Math.round(value * 100) / 100;
/** Rounds up, so that a value above the limit does not look like the limit itself. */
const toMegabytes = (bytes: number) => Math.ceil((bytes / 1_048_576) * 100) / 100;
