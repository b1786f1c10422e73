import { ConfigurationError, isGatewayError } from "@sluice/core";
import { describeThrown } from "@sluice/core/extend";
import type { Input } from "mediabunny";
import type { BlobReader } from "./blob-reader.js";
import { findBoxProblem } from "./boxes.js";
import type { SignedFormat } from "./formats.js";

/** Metadata of the tracks in a container. */
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
 * Maximum size of an MP3 that is read frame by frame. Without a table of contents, the first frames do not reveal a
 * variable bit rate. A larger file is longer than 100 s at 320 kbit/s, and an estimate is good enough.
 */
const EXACT_MP3_BYTES = 4_194_304;

/** The formats that {@link readContainerHeader} reads. */
export type ContainerFormat = Extract<SignedFormat, "mp4" | "m4a" | "mov" | "wav" | "mp3">;

/**
 * Loads the exports of mediabunny that measure files: `mediabunny` of `@sluice/media/mediabunny`, or in a page without
 * a bundler a function that imports a file of mediabunny. Runs for each file. An error does not stop the next attempt.
 * The type does not refer to mediabunny, so an app without mediabunny compiles.
 */
export type MediaParser = () => Promise<
  Readonly<Record<"CustomSource" | "Input" | "MP3" | "MP4" | "QTFF" | "WAVE", unknown>>
>;

const HOW_TO = "npm install mediabunny, and give { parser: mediabunny } of @sluice/media/mediabunny";
const MISSING = `parser: is missing, and videos and audio files need one: ${HOW_TO}`;
const NOT_LOADED =
  "parser: mediabunny measures videos and audio files, and could not be loaded: is it installed?";

/** Measures a video or an audio file from its index, without decoding. */
export async function readContainerHeader(
  format: ContainerFormat,
  reader: BlobReader,
  parser: MediaParser | undefined,
  signal: AbortSignal | undefined,
): Promise<ContainerHeader> {
  const problem = format === "wav" || format === "mp3" ? undefined : await findBoxProblem(reader);
  if (problem) return { problem };
  const { CustomSource, Input, demuxers } = await loadDemuxers(parser);
  const source = new CustomSource({
    getSize: () => reader.size,
    read: (start, end) => reader.read(start, end),
    // ignore the result of a read after an abort
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

async function loadDemuxers(parser: MediaParser | undefined) {
  if (!parser) throw new ConfigurationError(MISSING);
  const names = await loadNames(parser);
  if (!names?.Input) throw new ConfigurationError(`parser: loaded another module: ${HOW_TO}`);
  const { CustomSource, Input, MP3, MP4, QTFF, WAVE } = names as typeof import("mediabunny");
  return { CustomSource, Input, demuxers: { mp4: MP4, m4a: MP4, mov: QTFF, wav: WAVE, mp3: MP3 } };
}

async function loadNames(parser: MediaParser) {
  try {
    return await parser();
  } catch (cause) {
    throw new ConfigurationError(NOT_LOADED, { cause });
  }
}

async function measure(input: Input, isEstimate: boolean): Promise<ContainerHeader> {
  const video = await input.getPrimaryVideoTrack();
  const end = isEstimate ? await input.getDurationFromMetadata() : await input.computeDuration();
  // without an edit list, frames out of order begin some frames late; a start before 0 is cut
  const seconds = (end ?? 0) - Math.max(0, await input.getFirstTimestamp());
  const isKnown = Number.isFinite(seconds) && seconds > 0;
  return {
    hasVideo: video !== null,
    ...(video && { width: await video.getDisplayWidth(), height: await video.getDisplayHeight() }),
    ...(isKnown ? { durationSeconds: seconds } : { problem: "has no audio or video track" }),
    ...(isKnown && isEstimate && { durationIsEstimate: true }),
  };
}
