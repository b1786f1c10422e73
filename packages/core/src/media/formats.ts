import { hasText, textAt, viewOf } from "./bytes.js";

/** What a file is made of, as far as the gateway tells files apart. */
export type MediaKind = "image" | "video" | "audio" | "file";

interface Format {
  readonly kind: MediaKind;
  readonly type: string;
  readonly extensions: readonly string[];
}

/** Formats that begin with a signature: such a file is what its bytes say, whatever its name says. */
export const signedFormats = {
  jpeg: { kind: "image", type: "image/jpeg", extensions: ["jpg", "jpeg", "jpe", "jfif"] },
  png: { kind: "image", type: "image/png", extensions: ["png"] },
  gif: { kind: "image", type: "image/gif", extensions: ["gif"] },
  bmp: { kind: "image", type: "image/bmp", extensions: ["bmp", "dib"] },
  webp: { kind: "image", type: "image/webp", extensions: ["webp"] },
  avif: { kind: "image", type: "image/avif", extensions: ["avif"] },
  heic: { kind: "image", type: "image/heic", extensions: ["heic", "heif"] },
  mp4: { kind: "video", type: "video/mp4", extensions: ["mp4", "m4v"] },
  mov: { kind: "video", type: "video/quicktime", extensions: ["mov", "qt"] },
  m4a: { kind: "audio", type: "audio/mp4", extensions: ["m4a"] },
  wav: { kind: "audio", type: "audio/wav", extensions: ["wav", "wave"] },
  mp3: { kind: "audio", type: "audio/mpeg", extensions: ["mp3"] },
} as const satisfies Record<string, Format>;

/** The name of a format that begins with a signature. */
export type SignedFormat = keyof typeof signedFormats;

const office = "application/vnd.openxmlformats-officedocument";

/** Types of the documents that the gateway takes; browsers leave `type` empty for what the system does not know. */
const documentTypes: Record<string, string> = {
  docx: `${office}.wordprocessingml.document`,
  doc: "application/msword",
  xlsx: `${office}.spreadsheetml.sheet`,
  xls: "application/vnd.ms-excel",
  pptx: `${office}.presentationml.presentation`,
  ppt: "application/vnd.ms-powerpoint",
  pdf: "application/pdf",
  txt: "text/plain",
  key: "application/vnd.apple.keynote",
  pages: "application/vnd.apple.pages",
  numbers: "application/vnd.apple.numbers",
  md: "text/markdown",
};

/** Major brands of the ISO container that are no MP4. */
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

/** As much as {@link formatOf} looks at. */
export const HEAD_BYTES = 32;

/** The format that the first bytes of a file name. */
export function formatOf(head: Uint8Array<ArrayBuffer>): SignedFormat | undefined {
  const box = textAt(head, 4, 4);
  if (head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff) return "jpeg";
  if (hasText(head, 0, "\x89PNG\r\n\x1a\n")) return "png";
  if (hasText(head, 0, "GIF87a") || hasText(head, 0, "GIF89a")) return "gif";
  if (hasText(head, 0, "RIFF") && hasText(head, 8, "WEBP")) return "webp";
  if (["RIFF", "RIFX", "RF64"].includes(textAt(head, 0, 4)) && hasText(head, 8, "WAVE")) return "wav";
  if (box === "ftyp") return brands[textAt(head, 8, 4)] ?? "mp4";
  // QuickTime files from before there was an ftyp box
  if (box === "moov" || box === "mdat" || box === "wide") return "mov";
  if (isMP3(head)) return "mp3";
  // two letters are no signature: a text may begin with them
  if (hasText(head, 0, "BM") && head.length >= 18)
    return BMP_HEADER_SIZES.includes(viewOf(head).getUint32(14, true)) ? "bmp" : undefined;
  return undefined;
}

/** An ID3v2 tag, or a frame header of layer III whose version, bit rate and sample rate are none of the reserved. */
function isMP3(head: Uint8Array): boolean {
  const [sync = 0, layer = 0, rates = 0, tagVersion = 0] = head;
  if (hasText(head, 0, "ID3")) return tagVersion >= 2 && tagVersion <= 4;
  const isLayer3 = sync === 0xff && (layer & 0xe6) === 0xe2 && (layer & 0x18) !== 0x08;
  return isLayer3 && (rates & 0xf0) !== 0xf0 && (rates & 0x0c) !== 0x0c;
}

/** The extension of a file's name, in lower case; empty without one. */
export function extensionOf(name: string): string {
  return /\.([^./\\\s]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
}

/** The signed format that a name's extension or a declared type claims. */
export function claimedFormat(extension: string, type: string): SignedFormat | undefined {
  const formats = Object.entries<Format>(signedFormats);
  return formats.find(([, format]) =>
    extension === "" ? format.type === type : format.extensions.includes(extension),
  )?.[0] as SignedFormat | undefined;
}

/** What a file without a signature is taken for. */
export function unsignedType(extension: string, declared: string): { kind: MediaKind; type: string } {
  const type = declared || documentTypes[extension] || "application/octet-stream";
  const kind = /^(image|video|audio)\//.exec(type)?.[1] as MediaKind | undefined;
  return { kind: extension in documentTypes ? "file" : (kind ?? "file"), type };
}
