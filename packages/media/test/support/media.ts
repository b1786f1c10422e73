import "./loaded.js";

type Bytes = Uint8Array<ArrayBuffer>;
type Part = Bytes | string | readonly number[];

/** Bytes one after the other: texts a byte for each character. */
export function bytesOf(...parts: readonly Part[]): Bytes {
  const all = parts.map((part) =>
    typeof part === "string" ? Uint8Array.from(part, (c) => c.charCodeAt(0)) : Uint8Array.from(part),
  );
  const joined = new Uint8Array(all.reduce((length, bytes) => length + bytes.length, 0));
  let at = 0;
  for (const bytes of all) {
    joined.set(bytes, at);
    at += bytes.length;
  }
  return joined;
}

/** Numbers in the byte order of PNG, JPEG, MP4 … */
const u16 = (value: number) => [(value >>> 8) & 0xff, value & 0xff];
export const u32 = (value: number) => [...u16(value >>> 16), ...u16(value)];
/** … and of RIFF, BMP, GIF. */
const u16le = (value: number) => [value & 0xff, (value >>> 8) & 0xff];
export const u32le = (value: number) => [...u16le(value), ...u16le(value >>> 16)];

/** A file as a user would choose it. */
export function fileOf(name: string, type: string, ...parts: readonly Part[]): File {
  return new File([bytesOf(...parts)], name, { type });
}

interface PNGOptions {
  readonly colourType?: 0 | 2 | 3 | 4 | 6;
  readonly transparentColour?: boolean;
}

/** A whole PNG, black or transparent, that any decoder takes. */
export async function png(width: number, height: number, options: PNGOptions = {}): Promise<Bytes> {
  const { colourType = 2, transparentColour = false } = options;
  const samples = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }[colourType];
  const rows = new Uint8Array(height * (1 + width * samples));
  const deflated = new Blob([rows]).stream().pipeThrough(new CompressionStream("deflate"));
  return bytesOf(
    "\x89PNG\r\n\x1a\n",
    chunk("IHDR", [...u32(width), ...u32(height), 8, colourType, 0, 0, 0]),
    chunk("tEXt", "Comment\0a chunk that has to be stepped over"),
    colourType === 3 ? chunk("PLTE", [0, 0, 0]) : [],
    transparentColour ? chunk("tRNS", [0, 0, 0, 0, 0, 0]) : [],
    chunk("IDAT", new Uint8Array(await new Response(deflated).arrayBuffer())),
    chunk("IEND", []),
  );
}

function chunk(name: string, content: Part): Bytes {
  const body = bytesOf(name, content);
  return bytesOf(u32(body.length - 4), body, u32(crc32(body)));
}

function crc32(bytes: Bytes): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** A JPEG as far as its pixels: `metadata` goes into segments of at most 64 KB before the frame header. */
export function jpeg(
  width: number,
  height: number,
  options: { metadata?: Bytes; frame?: number } = {},
): Bytes {
  const { metadata = new Uint8Array(), frame = 0xc0 } = options;
  const segments: Part[] = [];
  for (let at = 0; at < metadata.length; at += 65_533) {
    const content = metadata.subarray(at, at + 65_533);
    segments.push([0xff, 0xe1, ...u16(content.length + 2)], content);
  }
  return bytesOf(
    [0xff, 0xd8],
    [0xff, 0xe0, ...u16(16)],
    "JFIF\0\x01\x01\0\0\x01\0\x01\0\0",
    ...segments,
    // fill bytes are allowed before each marker
    [0xff, 0xff, 0xff, 0xc4, ...u16(4), 0, 0],
    [0xff, frame, ...u16(11), 8, ...u16(height), ...u16(width), 1, 1, 0x11, 0],
    [0xff, 0xda, ...u16(8), 1, 1, 0, 0, 63, 0],
  );
}

/** A BMP of 24 bits, or of 32 bits whose header names a mask for alpha. */
export function bmp(width: number, height: number, { alpha = false } = {}): Bytes {
  const headerSize = alpha ? 108 : 40;
  const pixels = new Uint8Array((alpha ? width * 4 : Math.ceil((width * 3) / 4) * 4) * Math.abs(height));
  const header = new Uint8Array(headerSize);
  header.set(bytesOf(u32le(headerSize), u32le(width), u32le(height), u16le(1), u16le(alpha ? 32 : 24)));
  if (alpha) header.set(bytesOf([3, 0, 0, 0]), 16);
  if (alpha) header.set(bytesOf(u32le(0xff0000), u32le(0xff00), u32le(0xff), u32le(0xff000000)), 40);
  const start = 14 + headerSize;
  return bytesOf("BM", u32le(start + pixels.length), u32le(0), u32le(start), header, pixels);
}

/** The header of a GIF of one empty frame. */
export function gif(width: number, height: number): Bytes {
  return bytesOf("GIF89a", u16le(width), u16le(height), [0, 0, 0, 0x3b]);
}

/** The header of a WEBP: lossy, lossless or extended. */
export function webp(kind: "VP8 " | "VP8L" | "VP8X", width: number, height: number, alpha = false): Bytes {
  const u24le = (value: number) => u32le(value).slice(0, 3);
  const content = {
    "VP8 ": bytesOf([0, 0, 0, 0x9d, 0x01, 0x2a], u16le(width), u16le(height)),
    VP8L: bytesOf([0x2f], u32le((width - 1) | ((height - 1) << 14) | (alpha ? 1 << 28 : 0)), [0, 0, 0, 0, 0]),
    VP8X: bytesOf([alpha ? 0x10 : 0, 0, 0, 0], u24le(width - 1), u24le(height - 1)),
  }[kind];
  return bytesOf("RIFF", u32le(12 + content.length), "WEBP", kind, u32le(content.length), content);
}

/** Silence at 8 kHz, 8 bits, mono. `declaredBytes` is what the header says of its length. */
export function wav(seconds: number, options: { declaredBytes?: number } = {}): Bytes {
  const sound = new Uint8Array(Math.round(seconds * 8000)).fill(128);
  const { declaredBytes = sound.length } = options;
  return bytesOf(
    "RIFF",
    u32le(declaredBytes === sound.length ? 36 + sound.length : 0xffffffff),
    "WAVEfmt ",
    [...u32le(16), ...u16le(1), ...u16le(1), ...u32le(8000), ...u32le(8000), ...u16le(1), ...u16le(8)],
    "data",
    u32le(declaredBytes),
    sound,
  );
}

/** MP3 frames of 1,152 samples at 44.1 kHz, their bit rates (kbit/s) in turn. */
export function mp3(frames: number, bitRates: readonly (32 | 128 | 320)[] = [128]): Bytes {
  const shapes = { 32: [0x10, 104], 128: [0x90, 417], 320: [0xe0, 1044] } as const;
  const all: Part[] = ["ID3\x04\0\0", [0, 0, 0, 10], new Uint8Array(10)];
  for (let nth = 0; nth < frames; nth += 1) {
    const [rate, length] = shapes[bitRates[nth % bitRates.length] as 32 | 128 | 320];
    const frame = new Uint8Array(length);
    frame.set([0xff, 0xfb, rate, 0xc4]);
    all.push(frame);
  }
  return bytesOf(...all);
}

/** Length of {@link mp3}, in seconds. */
export const mp3Seconds = (frames: number) => (frames * 1152) / 44_100;

interface FilmOptions {
  readonly brand?: string;
  readonly indexFirst?: boolean;
  readonly soundOnly?: boolean;
  readonly rotated?: boolean;
  /** Length by the table of sample times, instead of the true one. */
  readonly declaredSamples?: number;
  /** Bytes of picture and sound. */
  readonly content?: number;
}

const TICKS = 1000;
const SAMPLE_TICKS = 100;

/** An MP4 or MOV of ten empty pictures a second. */
export function film(width: number, height: number, seconds: number, options: FilmOptions = {}): Bytes {
  const { brand = "isom", indexFirst = true, content = 64 } = options;
  const start = box("ftyp", brand, u32(0), brand);
  const pictures = box("mdat", new Uint8Array(content));
  const index = box(
    "moov",
    box(
      "mvhd",
      u32(0),
      u32(0),
      u32(0),
      u32(TICKS),
      u32(seconds * TICKS),
      u32(0x10000),
      u16(0x100),
      new Uint8Array(10),
      identity,
      new Uint8Array(24),
      u32(2),
    ),
    track(width, height, seconds, options),
  );
  return indexFirst ? bytesOf(start, index, pictures) : bytesOf(start, pictures, index);
}

const identity = [
  ...u32(0x10000),
  ...u32(0),
  ...u32(0),
  ...u32(0),
  ...u32(0x10000),
  ...u32(0),
  ...u32(0),
  ...u32(0),
  ...u32(0x40000000),
];
const quarterTurn = [
  ...u32(0),
  ...u32(0x10000),
  ...u32(0),
  ...u32(-0x10000),
  ...u32(0),
  ...u32(0),
  ...u32(0),
  ...u32(0),
  ...u32(0x40000000),
];

export function box(name: string, ...parts: readonly Part[]): Bytes {
  const content = bytesOf(...parts);
  return bytesOf(u32(content.length + 8), name, content);
}

function track(width: number, height: number, seconds: number, options: FilmOptions): Bytes {
  const { soundOnly = false, rotated = false } = options;
  const samples = Math.round((seconds * TICKS) / SAMPLE_TICKS);
  const { declaredSamples = samples } = options;
  const matrix = rotated ? quarterTurn : identity;
  return box(
    "trak",
    box(
      "tkhd",
      u32(1),
      u32(0),
      u32(0),
      u32(1),
      u32(0),
      u32(seconds * TICKS),
      new Uint8Array(16),
      matrix,
      u32(width << 16),
      u32(height << 16),
    ),
    box(
      "mdia",
      box("mdhd", u32(0), u32(0), u32(0), u32(TICKS), u32(seconds * TICKS), u16(0x55c4), u16(0)),
      box("hdlr", u32(0), u32(0), soundOnly ? "soun" : "vide", new Uint8Array(12), "\0"),
      box(
        "minf",
        box(
          "stbl",
          box("stsd", u32(0), u32(1), soundOnly ? soundEntry() : pictureEntry(width, height)),
          ...(samples > 0 ? sampleTables(samples, declaredSamples, soundOnly) : emptyTables),
        ),
      ),
    ),
  );
}

function sampleTables(samples: number, declared: number, soundOnly: boolean): Bytes[] {
  const oneEntry = [...u32(0), ...u32(1)];
  return [
    box("stts", oneEntry, u32(declared), u32(SAMPLE_TICKS)),
    // an offset for each picture makes a demuxer go through all of them
    ...(soundOnly ? [] : [box("ctts", oneEntry, u32(declared), u32(0))]),
    box("stsc", oneEntry, u32(1), u32(samples), u32(1)),
    box("stsz", u32(0), u32(1), u32(samples)),
    box("stco", oneEntry, u32(0)),
  ];
}

const emptyTables = ["stts", "stsc", "stco"]
  .map((name) => box(name, u32(0), u32(0)))
  .concat(box("stsz", u32(0), u32(0), u32(0)));

function pictureEntry(width: number, height: number): Bytes {
  return box(
    "avc1",
    new Uint8Array(6),
    u16(1),
    new Uint8Array(16),
    u16(width),
    u16(height),
    new Uint8Array(50),
  );
}

function soundEntry(): Bytes {
  return box(
    "mp4a",
    new Uint8Array(6),
    u16(1),
    new Uint8Array(8),
    u16(2),
    u16(16),
    u32(0),
    u32(44_100 << 16),
  );
}

/** A film in fragments, as recorders write it: its index has no times, and each fragment declares its own. */
export function fragments(width: number, height: number, samplesOf: readonly number[], skipped = 0): Bytes {
  const start = film(width, height, 0, { content: 0 });
  const empty = start.subarray(0, start.length - 8);
  const defaults = box("mvex", box("trex", u32(0), u32(1), u32(1), u32(SAMPLE_TICKS), u32(1), u32(0)));
  // the index is the second box, and takes up what is left of `empty`
  const index = bytesOf(empty.subarray(28), defaults);
  let before = skipped;
  const pieces = samplesOf.map((samples) => {
    const times = box("tfdt", u32(0), u32(before * SAMPLE_TICKS));
    before += samples;
    return box(
      "moof",
      box("mfhd", u32(0), u32(1)),
      box("traf", box("tfhd", u32(0x20000), u32(1)), times, box("trun", u32(0), u32(samples))),
    );
  });
  return bytesOf(empty.subarray(0, 20), u32(index.length + 8), "moov", index, ...pieces);
}

/** A blob that counts the bytes read from it. */
export class CountedBlob extends Blob {
  bytesRead = 0;

  override slice(start = 0, end = this.size): Blob {
    this.bytesRead += Math.min(end, this.size) - start;
    return super.slice(start, end);
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    return Promise.reject(new Error("the whole was read"));
  }

  override stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    throw new Error("the whole was read");
  }
}

/** A file of any size that is empty but for some parts, and counts what is read. It is made as it is read. */
export function sparseFile(name: string, size: number, parts: readonly (readonly [at: number, Bytes])[]) {
  const reads = { bytes: 0, largest: 0 };
  const slice = (start = 0, end = size) => {
    const length = Math.min(end, size) - start;
    reads.bytes += length;
    reads.largest = Math.max(reads.largest, length);
    if (length > 64 * 1_048_576) throw new Error(`${length} bytes were asked for at once`);
    const bytes = new Uint8Array(length);
    for (const [at, part] of parts) {
      const from = Math.max(at, start);
      const to = Math.min(at + part.length, start + length);
      if (from < to) bytes.set(part.subarray(from - at, to - at), from - start);
    }
    return new Blob([bytes]);
  };
  return { file: { name, size, type: "", slice } as unknown as File, reads };
}
