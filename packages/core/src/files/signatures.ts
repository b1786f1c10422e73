import { createView, hasText, readASCII } from "./bytes.js";

/** MIME types of formats with a signature. The bytes decide the type, not the file name. */
export const signedTypes = {
  jpeg: "image/jpeg",
  png: "image/png",
  gif: "image/gif",
  bmp: "image/bmp",
  webp: "image/webp",
  avif: "image/avif",
  heic: "image/heic",
  mp4: "video/mp4",
  mov: "video/quicktime",
  m4a: "audio/mp4",
  wav: "audio/wav",
  mp3: "audio/mpeg",
} as const;

/** The name of a format with a signature. */
export type SignedFormat = keyof typeof signedTypes;

/** Major brands of the ISO container that do not mean MP4. */
const brands: Record<string, SignedFormat> = {
  "qt  ": "mov",
  "M4A ": "m4a",
  "M4B ": "m4a",
  avif: "avif",
  avis: "avif",
  heic: "heic",
  heix: "heic",
  hevc: "heic",
  hevx: "heic",
  mif1: "heic",
  msf1: "heic",
};

const BMP_HEADER_SIZES = [12, 40, 52, 56, 64, 108, 124];

/** Number of bytes that {@link findFormat} reads. */
export const HEAD_BYTES = 32;

/** Detects the format from the first bytes of a file. */
export function findFormat(head: Uint8Array): SignedFormat | undefined {
  const box = readASCII(head, 4, 4);
  if (head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff) return "jpeg";
  if (hasText(head, 0, "\x89PNG\r\n\x1a\n")) return "png";
  if (hasText(head, 0, "GIF87a") || hasText(head, 0, "GIF89a")) return "gif";
  if (hasText(head, 0, "RIFF") && hasText(head, 8, "WEBP")) return "webp";
  if (["RIFF", "RIFX", "RF64"].includes(readASCII(head, 0, 4)) && hasText(head, 8, "WAVE")) return "wav";
  if (box === "ftyp") return brands[readASCII(head, 8, 4)] ?? "mp4";
  // QuickTime files from before the ftyp box existed
  if (box === "moov" || box === "mdat" || box === "wide") return "mov";
  if (isMP3(head)) return "mp3";
  // two letters are too short for a signature, because a text may begin with them
  if (hasText(head, 0, "BM") && head.length >= 18)
    return BMP_HEADER_SIZES.includes(createView(head).getUint32(14, true)) ? "bmp" : undefined;
  return undefined;
}

/**
 * Detects the MIME type from the first bytes of a file; undefined for a format without a signature.
 *
 * @example
 * ```ts
 * const head = new Uint8Array(await file.slice(0, 32).arrayBuffer());
 * const type = findSignedType(head);
 * ```
 */
export function findSignedType(head: Uint8Array): string | undefined {
  const format = findFormat(head);
  return format && signedTypes[format];
}

/** Returns true for an ID3v2 tag, or a frame header of layer III without reserved values. */
function isMP3(head: Uint8Array): boolean {
  const [sync = 0, versionAndLayer = 0, rates = 0, tagVersion = 0] = head;
  if (hasText(head, 0, "ID3")) return tagVersion >= 2 && tagVersion <= 4;
  // the other sync bits and layer III, then any version except the reserved one
  const isLayer3 = sync === 0xff && (versionAndLayer & 0xe6) === 0xe2 && (versionAndLayer & 0x18) !== 0x08;
  // neither the reserved bit rate nor the reserved sample rate
  return isLayer3 && (rates & 0xf0) !== 0xf0 && (rates & 0x0c) !== 0x0c;
}
