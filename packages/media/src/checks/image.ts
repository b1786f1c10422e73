import { type BlobReader, createView, readASCII } from "./blob-reader.js";

/** Metadata from the header of an image. Width and height are as stored, before any EXIF orientation. */
export interface ImageHeader {
  readonly width?: number;
  readonly height?: number;
  readonly hasAlpha?: boolean;
  readonly problem?: string;
}

type HeaderReader = (reader: BlobReader) => Promise<ImageHeader>;

const TRUNCATED: ImageHeader = { problem: "ends within its header" };
const BROKEN: ImageHeader = { problem: "has a header that contradicts itself" };

/** Maximum number of segments to read before a header counts as broken. */
const MAX_SEGMENTS = 4096;

/** Header readers by format. They read the header and decode no pixel. */
export const imageHeaders: { readonly [format: string]: HeaderReader } = {
  jpeg: readJPEG,
  png: readPNG,
  gif: readGIF,
  bmp: readBMP,
  webp: readWEBP,
};

/** Reads the segments, including metadata of any size, up to the first frame header. */
async function readJPEG(reader: BlobReader): Promise<ImageHeader> {
  let offset = 2;
  for (let segment = 0; segment < MAX_SEGMENTS; segment += 1) {
    const bytes = await reader.read(offset, offset + 9);
    if (bytes.length < 9) return TRUNCATED;
    const [prefix, marker = 0] = bytes;
    const view = createView(bytes);
    if (prefix !== 0xff) return BROKEN;
    if (isFrameHeader(marker)) return toHeader(view.getUint16(7), view.getUint16(5), false);
    // the pixels begin, or the file ends, without a frame header
    if (marker === 0xda || marker === 0xd9) return BROKEN;
    if (marker === 0xff) offset += 1;
    else offset += 2 + view.getUint16(2);
  }
  return BROKEN;
}

/** Checks for SOF0 to SOF15. Three of these markers are tables. */
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

async function readPNG(reader: BlobReader): Promise<ImageHeader> {
  const bytes = await reader.read(0, 33);
  if (bytes.length < 33) return TRUNCATED;
  if (readASCII(bytes, 12, 4) !== "IHDR") return BROKEN;
  const view = createView(bytes);
  const colorType = bytes[25];
  const header = toHeader(view.getUint32(16), view.getUint32(20), colorType === 4 || colorType === 6);
  if (header.problem || header.hasAlpha) return header;

  // a palette or a color may be transparent: a tRNS chunk before the pixels says so
  let offset = 33;
  for (let segment = 0; segment < MAX_SEGMENTS; segment += 1) {
    const chunk = await reader.read(offset, offset + 8);
    if (chunk.length < 8) return { ...header, problem: "ends before its pixels" };
    const name = readASCII(chunk, 4, 4);
    if (name === "tRNS") return { ...header, hasAlpha: true };
    if (name === "IDAT") return header;
    offset += 12 + createView(chunk).getUint32(0);
  }
  return { ...header, ...BROKEN };
}

async function readGIF(reader: BlobReader): Promise<ImageHeader> {
  const bytes = await reader.read(0, 10);
  if (bytes.length < 10) return TRUNCATED;
  const view = createView(bytes);
  // each frame says if one of its colors is transparent
  return toHeader(view.getUint16(6, true), view.getUint16(8, true));
}

async function readBMP(reader: BlobReader): Promise<ImageHeader> {
  const bytes = await reader.read(0, 70);
  if (bytes.length < 26) return TRUNCATED;
  const view = createView(bytes);
  const headerSize = view.getUint32(14, true);
  if (headerSize === 12) return toHeader(view.getUint16(18, true), view.getUint16(20, true), false);
  if (bytes.length < 14 + 40) return TRUNCATED;

  const [bitsPerPixel, compression] = [view.getUint16(28, true), view.getUint32(30, true)];
  const hasMask = bitsPerPixel === 32 && (headerSize >= 56 || compression === 6) && bytes.length === 70;
  // a negative height means that the rows are stored from the top
  return toHeader(
    view.getInt32(18, true),
    Math.abs(view.getInt32(22, true)),
    hasMask && view.getUint32(66, true) !== 0,
  );
}

async function readWEBP(reader: BlobReader): Promise<ImageHeader> {
  const bytes = await reader.read(0, 30);
  if (bytes.length < 30) return TRUNCATED;
  const view = createView(bytes);
  const chunk = readASCII(bytes, 12, 4);
  if (chunk === "VP8X") {
    // width and height have 24 bits, which a DataView cannot read at once
    const width = (view.getUint32(24, true) & 0xff_ffff) + 1;
    const height = (view.getUint32(26, true) >>> 8) + 1;
    return toHeader(width, height, ((bytes[20] ?? 0) & 0x10) !== 0);
  }
  if (chunk === "VP8L" && bytes[20] === 0x2f) {
    const bits = view.getUint32(21, true);
    return toHeader((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1, ((bits >>> 28) & 1) === 1);
  }
  if (chunk === "VP8 " && readASCII(bytes, 23, 3) === "\x9d\x01\x2a")
    return toHeader(view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff, false);
  return BROKEN;
}

function toHeader(width: number, height: number, hasAlpha?: boolean): ImageHeader {
  if (width <= 0 || height <= 0) return BROKEN;
  return { width, height, ...(hasAlpha !== undefined && { hasAlpha }) };
}
