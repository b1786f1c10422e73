import { findSignedType } from "@sluice/core/files";

/** Number of bytes that {@link findFormat} reads. */
export const HEAD_BYTES = 32;

/** Kind of a file, as the gateway distinguishes files. */
export type MediaKind = "image" | "video" | "audio" | "file";

interface Format {
  readonly kind: MediaKind;
  readonly type: string;
  readonly extensions: readonly string[];
}

/** Metadata of each format that begins with a signature. */
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

/** The name of a format with a signature. */
export type SignedFormat = keyof typeof signedFormats;

const office = "application/vnd.openxmlformats-officedocument";

/**
 * MIME types of the documents that the gateway accepts. A browser leaves `type` empty if its system does not know the
 * type.
 */
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

/** Returns the extension of a file's name in lower case, or an empty string. */
export function readExtension(name: string): string {
  return /\.([^./\\\s]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
}

/** Detects the format from the first bytes of a file. */
export function findFormat(head: Uint8Array): SignedFormat | undefined {
  const type = findSignedType(head);
  return listFormats().find(([, format]) => format.type === type)?.[0];
}

function listFormats(): [SignedFormat, Format][] {
  return Object.entries<Format>(signedFormats) as [SignedFormat, Format][];
}

/** Finds the format with a signature that the name's extension or the declared type claims. */
export function findClaimedFormat(extension: string, type: string): SignedFormat | undefined {
  return listFormats().find(([, format]) =>
    extension === "" ? format.type === type : format.extensions.includes(extension),
  )?.[0];
}

/** Decides the type of a file without a signature from its extension and its declared type. */
export function decideType(extension: string, declared: string): { kind: MediaKind; type: string } {
  const type = declared || documentTypes[extension] || "application/octet-stream";
  const kind = /^(image|video|audio)\//.exec(type)?.[1] as MediaKind | undefined;
  return { kind: extension in documentTypes ? "file" : (kind ?? "file"), type };
}
