import { readBytes } from "@sluice/core/files";
import { createBlobReader } from "./blob-reader.js";
import { type ContainerFormat, type MediaParser, readContainerHeader } from "./container.js";
import {
  decideType,
  findClaimedFormat,
  findFormat,
  HEAD_BYTES,
  type MediaKind,
  readExtension,
  type SignedFormat,
  signedFormats,
} from "./formats.js";
import { imageHeaders } from "./image.js";

/** Metadata of a file, read from its bytes. */
export interface MediaProbe {
  /** Kind of the file. */
  readonly kind: MediaKind;
  /** MIME type from the signature of the bytes, else the declared type, else the type of the extension. */
  readonly type: string;
  /**
   * Short name of the format: `"jpeg"`, `"png"`, `"mov"`, `"mp3"`. Without a signature, the extension of the name
   * (`"docx"`), or an empty string.
   */
  readonly format: string;
  /** Size of the file in bytes. */
  readonly bytes: number;
  /** Name of a `File`. Absent for a `Blob`. */
  readonly name?: string;
  /** Width in pixels. Absent if it could not be read. */
  readonly width?: number;
  /** Height in pixels. Absent if it could not be read. */
  readonly height?: number;
  /**
   * True for an image with an alpha channel or a transparent color. Absent if its header does not say (GIF).
   */
  readonly hasAlpha?: boolean;
  /** Length in seconds. Absent if it could not be read. */
  readonly durationSeconds?: number;
  /** True if the duration is an estimate: for an MP3 over 4 MB, from its table of contents or its first bit rate. */
  readonly durationIsEstimate?: boolean;
  /** Reason for a missing size or duration: `"ends within its header"`. */
  readonly problem?: string;
}

/** Options of {@link probeMedia}. */
export interface ProbeOptions {
  /** Aborts the reading. */
  readonly signal?: AbortSignal | undefined;
  /** Measures videos and audio files: `mediabunny` of `@sluice/media/mediabunny`. @default they are refused */
  readonly parser?: MediaParser | undefined;
}

/**
 * Reads the kind, size and length of a file from a few slices, without decoding: JPEG, PNG, BMP, WEBP and GIF; MP4,
 * MOV, WAV and MP3 (an MP3 up to 4 MB is read completely, for its exact length). For a file without a signature, the
 * extension decides. Broken files do not throw: `problem` describes the fault.
 *
 * Videos and audio files need the option `parser`. The first one loads mediabunny, an optional peer dependency.
 *
 * @throws {ConfigurationError} for a video or an audio file without `parser`, or if mediabunny is not installed
 * @throws {ValidationError} for anything but a readable `Blob`; throws the signal's reason after an abort
 * @example
 * ```ts
 * const { type, width, height } = await probeMedia(file);
 * // { kind: "image", type: "image/png", format: "png", bytes: 81_234, width: 1024, height: 768, hasAlpha: true, … }
 * ```
 */
export function probeMedia(blob: Blob, options: ProbeOptions = {}): Promise<MediaProbe> {
  return probe(blob, options, true);
}

/** Probes a file as {@link probeMedia} does, but does not measure videos and audio files without a parser. */
export function probeWherePossible(blob: Blob, options: ProbeOptions): Promise<MediaProbe> {
  return probe(blob, options, options.parser !== undefined);
}

async function probe(
  blob: Blob,
  { signal, parser }: ProbeOptions,
  measuresContainers: boolean,
): Promise<MediaProbe> {
  // rejects anything but a readable blob
  await readBytes(blob, 0, 0, signal);
  const reader = createBlobReader(blob, signal);
  const format = findFormat(await reader.read(0, HEAD_BYTES));
  signal?.throwIfAborted();
  const name = "name" in blob && typeof blob.name === "string" ? blob.name : undefined;
  const about = { bytes: blob.size, ...(name !== undefined && { name }) };
  if (!format) return { ...about, ...probeUnsigned(name ?? "", blob) };

  const readHeader = imageHeaders[format];
  if (readHeader) return { ...about, ...getType(format), ...(await readHeader(reader)) };
  if (!(measuresContainers && isContainer(format))) return { ...about, ...getType(format) };

  const { hasVideo, ...header } = await readContainerHeader(format, reader, parser, signal);
  return { ...about, ...getType(format === "mp4" && hasVideo === false ? "m4a" : format), ...header };
}

function getType(format: SignedFormat) {
  const { kind, type } = signedFormats[format];
  return { kind, type, format };
}

function isContainer(format: SignedFormat): format is ContainerFormat {
  return format !== "avif" && format !== "heic" && !(format in imageHeaders);
}

function probeUnsigned(name: string, { size, type: declared }: Blob): Omit<MediaProbe, "bytes"> {
  const extension = readExtension(name);
  const type = declared.replace(/;.*/s, "").trim().toLowerCase();
  const claimed = findClaimedFormat(extension, type);
  if (!claimed) return { ...decideType(extension, type), format: extension };
  const claim = extension === "" ? `is declared as ${type}` : `is named .${extension}`;
  const problem = size === 0 ? "is empty" : `${claim}, but its bytes are something else`;
  return { kind: "file", type: "application/octet-stream", format: "", problem };
}
