import "./loaded.js";

type Bytes = Uint8Array<ArrayBuffer>;
type Part = Bytes | string | readonly number[];

/** Concatenates bytes. A string has one byte per character. */
export function concatBytes(...parts: readonly Part[]): Bytes {
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

/** Big-endian numbers of PNG, JPEG, MP4 … */
const toU16 = (value: number) => [(value >>> 8) & 0xff, value & 0xff];
export const toU32 = (value: number) => [...toU16(value >>> 16), ...toU16(value)];
/** … and little-endian numbers of RIFF, BMP, GIF. */
const toU16LE = (value: number) => [value & 0xff, (value >>> 8) & 0xff];
export const toU32LE = (value: number) => [...toU16LE(value), ...toU16LE(value >>> 16)];

/** Creates a file as a user would choose it. */
export function createFile(name: string, type: string, ...parts: readonly Part[]): File {
  return new File([concatBytes(...parts)], name, { type });
}

interface PNGOptions {
  readonly colourType?: 0 | 2 | 3 | 4 | 6;
  readonly transparentColour?: boolean;
}

/** Creates a complete PNG, black or transparent, that every decoder accepts. */
export async function createPNG(width: number, height: number, options: PNGOptions = {}): Promise<Bytes> {
  const { colourType = 2, transparentColour = false } = options;
  const samples = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }[colourType];
  const rows = new Uint8Array(height * (1 + width * samples));
  const deflated = new Blob([rows]).stream().pipeThrough(new CompressionStream("deflate"));
  return concatBytes(
    "\x89PNG\r\n\x1a\n",
    createChunk("IHDR", [...toU32(width), ...toU32(height), 8, colourType, 0, 0, 0]),
    createChunk("tEXt", "Comment\0a chunk that has to be stepped over"),
    colourType === 3 ? createChunk("PLTE", [0, 0, 0]) : [],
    transparentColour ? createChunk("tRNS", [0, 0, 0, 0, 0, 0]) : [],
    createChunk("IDAT", new Uint8Array(await new Response(deflated).arrayBuffer())),
    createChunk("IEND", []),
  );
}

function createChunk(name: string, content: Part): Bytes {
  const body = concatBytes(name, content);
  return concatBytes(toU32(body.length - 4), body, toU32(computeCRC32(body)));
}

function computeCRC32(bytes: Bytes): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** Creates a JPEG up to its pixels. `metadata` becomes segments of at most 64 KB before the frame header. */
export function createJPEG(
  width: number,
  height: number,
  options: { metadata?: Bytes; frame?: number } = {},
): Bytes {
  const { metadata = new Uint8Array(), frame = 0xc0 } = options;
  const segments: Part[] = [];
  for (let at = 0; at < metadata.length; at += 65_533) {
    const content = metadata.subarray(at, at + 65_533);
    segments.push([0xff, 0xe1, ...toU16(content.length + 2)], content);
  }
  return concatBytes(
    [0xff, 0xd8],
    [0xff, 0xe0, ...toU16(16)],
    "JFIF\0\x01\x01\0\0\x01\0\x01\0\0",
    ...segments,
    // fill bytes are allowed before each marker
    [0xff, 0xff, 0xff, 0xc4, ...toU16(4), 0, 0],
    [0xff, frame, ...toU16(11), 8, ...toU16(height), ...toU16(width), 1, 1, 0x11, 0],
    [0xff, 0xda, ...toU16(8), 1, 1, 0, 0, 63, 0],
  );
}

/** Creates a BMP of 24 bits, or of 32 bits whose header has a mask for alpha. */
export function createBMP(width: number, height: number, { alpha = false } = {}): Bytes {
  const headerSize = alpha ? 108 : 40;
  const pixels = new Uint8Array((alpha ? width * 4 : Math.ceil((width * 3) / 4) * 4) * Math.abs(height));
  const header = new Uint8Array(headerSize);
  header.set(
    concatBytes(toU32LE(headerSize), toU32LE(width), toU32LE(height), toU16LE(1), toU16LE(alpha ? 32 : 24)),
  );
  if (alpha) header.set(concatBytes([3, 0, 0, 0]), 16);
  if (alpha)
    header.set(concatBytes(toU32LE(0xff0000), toU32LE(0xff00), toU32LE(0xff), toU32LE(0xff000000)), 40);
  const start = 14 + headerSize;
  return concatBytes("BM", toU32LE(start + pixels.length), toU32LE(0), toU32LE(start), header, pixels);
}

/** Creates the header of a GIF with one empty frame. */
export function createGIF(width: number, height: number): Bytes {
  return concatBytes("GIF89a", toU16LE(width), toU16LE(height), [0, 0, 0, 0x3b]);
}

/** Creates the header of a WEBP: lossy, lossless or extended. */
export function createWEBP(
  kind: "VP8 " | "VP8L" | "VP8X",
  width: number,
  height: number,
  alpha = false,
): Bytes {
  const toU24LE = (value: number) => toU32LE(value).slice(0, 3);
  const content = {
    "VP8 ": concatBytes([0, 0, 0, 0x9d, 0x01, 0x2a], toU16LE(width), toU16LE(height)),
    VP8L: concatBytes(
      [0x2f],
      toU32LE((width - 1) | ((height - 1) << 14) | (alpha ? 1 << 28 : 0)),
      [0, 0, 0, 0, 0],
    ),
    VP8X: concatBytes([alpha ? 0x10 : 0, 0, 0, 0], toU24LE(width - 1), toU24LE(height - 1)),
  }[kind];
  return concatBytes("RIFF", toU32LE(12 + content.length), "WEBP", kind, toU32LE(content.length), content);
}

/** Creates silence at 8 kHz, 8 bits, mono. `declaredBytes` is the length in the header. */
export function createWAV(seconds: number, options: { declaredBytes?: number } = {}): Bytes {
  const sound = new Uint8Array(Math.round(seconds * 8000)).fill(128);
  const { declaredBytes = sound.length } = options;
  return concatBytes(
    "RIFF",
    toU32LE(declaredBytes === sound.length ? 36 + sound.length : 0xffffffff),
    "WAVEfmt ",
    [
      ...toU32LE(16),
      ...toU16LE(1),
      ...toU16LE(1),
      ...toU32LE(8000),
      ...toU32LE(8000),
      ...toU16LE(1),
      ...toU16LE(8),
    ],
    "data",
    toU32LE(declaredBytes),
    sound,
  );
}

/** Creates MP3 frames of 1,152 samples at 44.1 kHz. Their bit rates (kbit/s) alternate. */
export function createMP3(frames: number, bitRates: readonly (32 | 128 | 320)[] = [128]): Bytes {
  const shapes = { 32: [0x10, 104], 128: [0x90, 417], 320: [0xe0, 1044] } as const;
  const all: Part[] = ["ID3\x04\0\0", [0, 0, 0, 10], new Uint8Array(10)];
  for (let nth = 0; nth < frames; nth += 1) {
    const [rate, length] = shapes[bitRates[nth % bitRates.length] as 32 | 128 | 320];
    const frame = new Uint8Array(length);
    frame.set([0xff, 0xfb, rate, 0xc4]);
    all.push(frame);
  }
  return concatBytes(...all);
}

/** Computes the length of {@link createMP3}, in seconds. */
export const countMP3Seconds = (frames: number) => (frames * 1152) / 44_100;

interface VideoOptions {
  readonly brand?: string;
  readonly indexFirst?: boolean;
  readonly soundOnly?: boolean;
  readonly rotated?: boolean;
  /** Length in the table of sample times, instead of the true length. */
  readonly declaredSamples?: number;
  /** Bytes of image and sound. */
  readonly content?: number;
}

const TICKS = 1000;
const SAMPLE_TICKS = 100;

/** Creates an MP4 or MOV with ten empty images per second. */
export function createVideo(
  width: number,
  height: number,
  seconds: number,
  options: VideoOptions = {},
): Bytes {
  const { brand = "isom", indexFirst = true, content = 64 } = options;
  const start = createBox("ftyp", brand, toU32(0), brand);
  const images = createBox("mdat", new Uint8Array(content));
  const index = createBox(
    "moov",
    createBox(
      "mvhd",
      toU32(0),
      toU32(0),
      toU32(0),
      toU32(TICKS),
      toU32(seconds * TICKS),
      toU32(0x10000),
      toU16(0x100),
      new Uint8Array(10),
      identity,
      new Uint8Array(24),
      toU32(2),
    ),
    createTrack(width, height, seconds, options),
  );
  return indexFirst ? concatBytes(start, index, images) : concatBytes(start, images, index);
}

const identity = [
  ...toU32(0x10000),
  ...toU32(0),
  ...toU32(0),
  ...toU32(0),
  ...toU32(0x10000),
  ...toU32(0),
  ...toU32(0),
  ...toU32(0),
  ...toU32(0x40000000),
];
const quarterTurn = [
  ...toU32(0),
  ...toU32(0x10000),
  ...toU32(0),
  ...toU32(-0x10000),
  ...toU32(0),
  ...toU32(0),
  ...toU32(0),
  ...toU32(0),
  ...toU32(0x40000000),
];

export function createBox(name: string, ...parts: readonly Part[]): Bytes {
  const content = concatBytes(...parts);
  return concatBytes(toU32(content.length + 8), name, content);
}

function createTrack(width: number, height: number, seconds: number, options: VideoOptions): Bytes {
  const { soundOnly = false, rotated = false } = options;
  const samples = Math.round((seconds * TICKS) / SAMPLE_TICKS);
  const { declaredSamples = samples } = options;
  const matrix = rotated ? quarterTurn : identity;
  return createBox(
    "trak",
    createBox(
      "tkhd",
      toU32(1),
      toU32(0),
      toU32(0),
      toU32(1),
      toU32(0),
      toU32(seconds * TICKS),
      new Uint8Array(16),
      matrix,
      toU32(width << 16),
      toU32(height << 16),
    ),
    createBox(
      "mdia",
      createBox(
        "mdhd",
        toU32(0),
        toU32(0),
        toU32(0),
        toU32(TICKS),
        toU32(seconds * TICKS),
        toU16(0x55c4),
        toU16(0),
      ),
      createBox("hdlr", toU32(0), toU32(0), soundOnly ? "soun" : "vide", new Uint8Array(12), "\0"),
      createBox(
        "minf",
        createBox(
          "stbl",
          createBox(
            "stsd",
            toU32(0),
            toU32(1),
            soundOnly ? createSoundEntry() : createImageEntry(width, height),
          ),
          ...(samples > 0 ? createSampleTables(samples, declaredSamples, soundOnly) : emptyTables),
        ),
      ),
    ),
  );
}

function createSampleTables(samples: number, declared: number, soundOnly: boolean): Bytes[] {
  const oneEntry = [...toU32(0), ...toU32(1)];
  return [
    createBox("stts", oneEntry, toU32(declared), toU32(SAMPLE_TICKS)),
    // an offset for each image makes a demuxer read all of them
    ...(soundOnly ? [] : [createBox("ctts", oneEntry, toU32(declared), toU32(0))]),
    createBox("stsc", oneEntry, toU32(1), toU32(samples), toU32(1)),
    createBox("stsz", toU32(0), toU32(1), toU32(samples)),
    createBox("stco", oneEntry, toU32(0)),
  ];
}

const emptyTables = ["stts", "stsc", "stco"]
  .map((name) => createBox(name, toU32(0), toU32(0)))
  .concat(createBox("stsz", toU32(0), toU32(0), toU32(0)));

function createImageEntry(width: number, height: number): Bytes {
  return createBox(
    "avc1",
    new Uint8Array(6),
    toU16(1),
    new Uint8Array(16),
    toU16(width),
    toU16(height),
    new Uint8Array(50),
  );
}

function createSoundEntry(): Bytes {
  return createBox(
    "mp4a",
    new Uint8Array(6),
    toU16(1),
    new Uint8Array(8),
    toU16(2),
    toU16(16),
    toU32(0),
    toU32(44_100 << 16),
  );
}

/**
 * Creates a fragmented video, as recorders write it: the index has no times, and each fragment declares its own times.
 */
export function createFragments(
  width: number,
  height: number,
  samples: readonly number[],
  skipped = 0,
): Bytes {
  const start = createVideo(width, height, 0, { content: 0 });
  const empty = start.subarray(0, start.length - 8);
  const defaults = createBox(
    "mvex",
    createBox("trex", toU32(0), toU32(1), toU32(1), toU32(SAMPLE_TICKS), toU32(1), toU32(0)),
  );
  // the index is the second box, and the rest of `empty`
  const index = concatBytes(empty.subarray(28), defaults);
  let before = skipped;
  const pieces = samples.map((samples) => {
    const times = createBox("tfdt", toU32(0), toU32(before * SAMPLE_TICKS));
    before += samples;
    return createBox(
      "moof",
      createBox("mfhd", toU32(0), toU32(1)),
      createBox(
        "traf",
        createBox("tfhd", toU32(0x20000), toU32(1)),
        times,
        createBox("trun", toU32(0), toU32(samples)),
      ),
    );
  });
  return concatBytes(empty.subarray(0, 20), toU32(index.length + 8), "moov", index, ...pieces);
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

/** Creates a file of any size with zeros around some parts. Counts the bytes that are read. */
export function createSparseFile(
  name: string,
  size: number,
  parts: readonly (readonly [at: number, Bytes])[],
) {
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
