import { findSignedType } from "@sluice/core/files";

/** File extensions of the types that an upload can have. The first bytes identify every type except text. */
export const EXTENSIONS = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/bmp": "bmp",
  "video/mp4": "mp4",
  "video/quicktime": "mov",
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "application/pdf": "pdf",
  "application/zip": "zip",
  "application/x-ole-storage": "ole",
  "text/plain": "txt",
} as const;

/**
 * A type of files. `application/zip` represents DOCX, XLSX, PPTX, KEY, PAGES and NUMBERS. `application/x-ole-storage`
 * represents DOC, XLS and PPT. `text/plain` represents TXT and MD.
 */
export type FileType = keyof typeof EXTENSIONS;

/** Maximum number of first bytes that identify a type. */
export const HEAD_BYTES = 512;

const SIGNATURES: readonly (readonly [FileType, readonly number[]])[] = [
  ["application/pdf", [0x25, 0x50, 0x44, 0x46, 0x2d]],
  ["application/zip", [0x50, 0x4b, 0x03, 0x04]],
  ["application/x-ole-storage", [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]],
];

/** Finds the type of a file by its first bytes; undefined for an unsupported type. */
export function findType(head: Uint8Array): FileType | undefined {
  const type = findSignedType(head);
  if (type) return Object.hasOwn(EXTENSIONS, type) ? (type as FileType) : undefined;
  const match = SIGNATURES.find(([, bytes]) => bytes.every((byte, index) => head[index] === byte));
  if (match) return match[0];
  return isPlainText(head) ? "text/plain" : undefined;
}

const CONTROL_CHARACTER = /(?!\s)\p{Cc}/u;
const MARKUP = /<\s*(?:!doctype|!--|\?xml|html|head|body|script|svg|iframe)/i;

/** Returns true for text that a browser can't interpret as HTML or SVG. */
function isPlainText(head: Uint8Array): boolean {
  try {
    // the last character may be cut
    const utf8 = new TextDecoder("utf-8", { fatal: true });
    const text = utf8.decode(head.subarray(0, HEAD_BYTES), { stream: true });
    return !CONTROL_CHARACTER.test(text) && !MARKUP.test(text);
  } catch {
    return false;
  }
}
