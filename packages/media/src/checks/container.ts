import { ConfigurationError, isGatewayError } from "@sluice/core";
import { describeThrown } from "@sluice/core/internal";
import type { Input } from "mediabunny";
import type { BlobReader } from "./blob-reader.js";
import { boxesProblem } from "./boxes.js";
import type { SignedFormat } from "./formats.js";

/** Facts about the tracks of a container. */
export interface ContainerHeader {
  readonly width?: number;
  readonly height?: number;
  readonly durationSeconds?: number;
  readonly durationIsEstimate?: boolean;
  /** False for a file without video. */
  readonly hasVideo?: boolean;
  readonly problem?: string;
}

/**
 * Size up to which an MP3 is read frame by frame. Without a table of contents, its first frames do not show a variable
 * bit rate. A larger one lasts more than 100 s at 320 kbit/s, and an estimate is good enough.
 */
const EXACT_MP3_BYTES = 4_194_304;

/** The formats that {@link containerHeader} reads. */
export type ContainerFormat = Extract<SignedFormat, "mp4" | "m4a" | "mov" | "wav" | "mp3">;

/** The names of mediabunny that measure files. Its types are not named here: an app without it compiles, too. */
export type Mediabunny = Readonly<
  Record<"CustomSource" | "Input" | "MP3" | "MP4" | "QTFF" | "WAVE", unknown>
>;

/** The module `@sluice/media/mediabunny`. */
interface MediabunnyEntry {
  /** The names of mediabunny. */
  readonly mediabunny: Mediabunny;
}

const ENTRY = "@sluice/media/mediabunny";
const HOW_TO = `npm install mediabunny, and call measureWith(() => import("${ENTRY}")) of @sluice/media once`;
const MISSING = `videos and audio files are measured by mediabunny: ${HOW_TO}`;
const NOT_LOADED =
  "videos and audio files are measured by mediabunny, which could not be loaded: is it installed?";

/** Loads mediabunny; undefined until the app says how. */
let load: Parameters<typeof measureWith>[0] | undefined;

/**
 * Says how mediabunny is loaded, which measures videos and audio files: an app that checks such files calls this once, before
 * the first check. Nothing is loaded before a file needs it. Where that fails, the next file tries again. A later call replaces
 * an earlier one. The setting is that of the module, for all of a page or a process.
 *
 * @param loader imports `@sluice/media/mediabunny`, or in a page without a bundler a file of mediabunny
 * @throws {ConfigurationError} if it is no function
 * @example
 * ```ts
 * import { measureWith } from "@sluice/media";
 *
 * measureWith(() => import("@sluice/media/mediabunny"));
 * ```
 */
export function measureWith(loader: () => Promise<Mediabunny | MediabunnyEntry>): void {
  if (typeof loader !== "function") throw new ConfigurationError(`measureWith: give a function: ${HOW_TO}`);
  load = loader;
}

/** Returns true once the app has called {@link measureWith}. */
export const canMeasure = () => load !== undefined;

/** Measures a video or an audio file from its index, without decoding. */
export async function containerHeader(
  format: ContainerFormat,
  reader: BlobReader,
  signal: AbortSignal | undefined,
): Promise<ContainerHeader> {
  const problem = format === "wav" || format === "mp3" ? undefined : await boxesProblem(reader);
  if (problem) return { problem };
  const { CustomSource, Input, demuxers } = await loadMediabunny();
  const source = new CustomSource({
    getSize: () => reader.size,
    read: (start, end) => reader.read(start, end),
    // the result of a read after an abort is not needed
    handleUnhandledError: () => {},
  });
  const input = new Input({ source, formats: [demuxers[format]] });
  try {
    return await measure(input, format === "mp3" && reader.size > EXACT_MP3_BYTES);
  } catch (error) {
    signal?.throwIfAborted();
    if (isGatewayError(error)) throw error;
    return { problem: `can't be measured (${describeThrown(error)})` };
  } finally {
    input.dispose();
  }
}

async function loadedBy(loader: Parameters<typeof measureWith>[0]) {
  try {
    return await loader();
  } catch (cause) {
    throw new ConfigurationError(NOT_LOADED, { cause });
  }
}

/** Loads the demuxers. */
async function loadMediabunny() {
  if (!load) throw new ConfigurationError(MISSING);
  const loaded = await loadedBy(load);
  const names = loaded && "mediabunny" in loaded ? loaded.mediabunny : loaded;
  if (!names?.Input) throw new ConfigurationError(`measureWith: its function gave another module: ${HOW_TO}`);
  const { CustomSource, Input, MP3, MP4, QTFF, WAVE } = names as typeof import("mediabunny");
  return { CustomSource, Input, demuxers: { mp4: MP4, m4a: MP4, mov: QTFF, wav: WAVE, mp3: MP3 } };
}

async function measure(input: Input, isEstimate: boolean): Promise<ContainerHeader> {
  const video = await input.getPrimaryVideoTrack();
  const end = isEstimate ? await input.getDurationFromMetadata() : await input.computeDuration();
  // frames that are shown out of order without an edit list begin some frames late; a beginning before 0 is cut
  const seconds = (end ?? 0) - Math.max(0, await input.getFirstTimestamp());
  const isKnown = Number.isFinite(seconds) && seconds > 0;
  return {
    hasVideo: video !== null,
    ...(video && { width: await video.getDisplayWidth(), height: await video.getDisplayHeight() }),
    ...(isKnown ? { durationSeconds: seconds } : { problem: "has no sound or picture in it" }),
    ...(isKnown && isEstimate && { durationIsEstimate: true }),
  };
}
