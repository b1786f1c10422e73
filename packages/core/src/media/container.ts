import { CustomSource, Input, MP3, MP4, QTFF, WAVE } from "mediabunny";
import { isGatewayError } from "../errors.js";
import { boxesProblem } from "./boxes.js";
import type { BlobReader } from "./bytes.js";
import type { SignedFormat } from "./formats.js";

// mediabunny is imported here alone and by name, and this file only by `import()`: a bundler then makes one lazy
// chunk of it, with the four demuxers used and not the whole of the library

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
 * Up to here an MP3 is gone through frame by frame: without a table of contents its first frames say little of
 * a variable bit rate. Beyond, at 320 kbit/s, it has more than 100 s, and an estimate does.
 */
const EXACT_MP3_BYTES = 4_194_304;

const demuxers = { mp4: MP4, m4a: MP4, mov: QTFF, wav: WAVE, mp3: MP3 } as const;

/** The formats that {@link containerHeader} reads. */
export type ContainerFormat = keyof typeof demuxers & SignedFormat;

/** Measures a video or an audio file from its index, without decoding. */
export async function containerHeader(
  format: ContainerFormat,
  reader: BlobReader,
  signal: AbortSignal | undefined,
): Promise<ContainerHeader> {
  const problem = format === "wav" || format === "mp3" ? undefined : await boxesProblem(reader);
  if (problem) return { problem };
  const source = new CustomSource({
    getSize: () => reader.size,
    read: (start, end) => reader.read(start, end),
    // a read that nobody waits for any more
    handleUnhandledError: () => {},
  });
  const input = new Input({ source, formats: [demuxers[format]] });
  try {
    return await measure(input, format === "mp3" && reader.size > EXACT_MP3_BYTES);
  } catch (error) {
    signal?.throwIfAborted();
    if (isGatewayError(error)) throw error;
    return { problem: `can't be measured (${error instanceof Error ? error.message : error})` };
  } finally {
    input.dispose();
  }
}

async function measure(input: Input, isEstimate: boolean): Promise<ContainerHeader> {
  const video = await input.getPrimaryVideoTrack();
  const end = isEstimate ? await input.getDurationFromMetadata() : await input.computeDuration();
  // what is shown out of order, and no edit list puts right, begins some frames late; what begins before 0 is cut
  const seconds = (end ?? 0) - Math.max(0, await input.getFirstTimestamp());
  const isKnown = Number.isFinite(seconds) && seconds > 0;
  return {
    hasVideo: video !== null,
    ...(video && { width: await video.getDisplayWidth(), height: await video.getDisplayHeight() }),
    ...(isKnown ? { durationSeconds: seconds } : { problem: "has no sound or picture in it" }),
    ...(isKnown && isEstimate && { durationIsEstimate: true }),
  };
}
