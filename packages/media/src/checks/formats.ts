import { type SignedFormat, signedTypes } from "@sluice/core/internal/media";

export { findFormat, HEAD_BYTES, type SignedFormat } from "@sluice/core/internal/media";

/** Kind of a file, as the gateway distinguishes files. */
export type MediaKind = "image" | "video" | "audio" | "file";

interface Format {
  readonly kind: MediaKind;
  readonly type: string;
  readonly extensions: readonly string[];
}

/** Metadata of each format that begins with a signature. */
export const signedFormats = {
  jpeg: { kind: "image", type: signedTypes.jpeg, extensions: ["jpg", "jpeg", "jpe", "jfif"] },
  png: { kind: "image", type: signedTypes.png, extensions: ["png"] },
  gif: { kind: "image", type: signedTypes.gif, extensions: ["gif"] },
  bmp: { kind: "image", type: signedTypes.bmp, extensions: ["bmp", "dib"] },
  webp: { kind: "image", type: signedTypes.webp, extensions: ["webp"] },
  avif: { kind: "image", type: signedTypes.avif, extensions: ["avif"] },
  heic: { kind: "image", type: signedTypes.heic, extensions: ["heic", "heif"] },
  mp4: { kind: "video", type: signedTypes.mp4, extensions: ["mp4", "m4v"] },
  mov: { kind: "video", type: signedTypes.mov, extensions: ["mov", "qt"] },
  m4a: { kind: "audio", type: signedTypes.m4a, extensions: ["m4a"] },
  wav: { kind: "audio", type: signedTypes.wav, extensions: ["wav", "wave"] },
  mp3: { kind: "audio", type: signedTypes.mp3, extensions: ["mp3"] },
} as const satisfies Record<SignedFormat, Format>;

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

/** Finds the format with a signature that the name's extension or the declared type claims. */
export function findClaimedFormat(extension: string, type: string): SignedFormat | undefined {
  const formats = Object.entries<Format>(signedFormats);
  return formats.find(([, format]) =>
    extension === "" ? format.type === type : format.extensions.includes(extension),
  )?.[0] as SignedFormat | undefined;
}

/** Decides the type of a file without a signature from its extension and its declared type. */
export function decideType(extension: string, declared: string): { kind: MediaKind; type: string } {
  const type = declared || documentTypes[extension] || "application/octet-stream";
  const kind = /^(image|video|audio)\//.exec(type)?.[1] as MediaKind | undefined;
  return { kind: extension in documentTypes ? "file" : (kind ?? "file"), type };
}
