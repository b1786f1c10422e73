import type { Bytes } from "../server/http.js";

/** Encoded frames, and the parameter sets that a player needs. */
export interface Encoded {
  readonly sequence: Bytes;
  readonly frame: Bytes;
  readonly frames: readonly Bytes[];
}

/** Size and frame rate of a video. */
export interface Track {
  readonly width: number;
  readonly height: number;
  readonly framesPerSecond: number;
}

const MATRIX = [1, 0, 0, 0, 1, 0, 0, 0, 0x4000].flatMap((value, at) =>
  toU32(at === 8 ? 0x4000_0000 : value << 16),
);

/** Writes an MP4 with one video track and its index in front. */
export function writeMP4({ sequence, frame, frames }: Encoded, track: Track): Bytes {
  const samples = frames.map((frame) => [...toU32(frame.length)]);
  const sizes = frames.map(({ length }) => length + 4);
  const type = writeBox("ftyp", toASCII("isom"), toU32(0x200), toASCII("isomiso2avc1mp41"));
  const writeIndex = (offset: number) => writeMovie(track, sizes, sequence, frame, offset);
  const offset = type.length + writeIndex(0).length + 8;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const file = new Uint8Array(offset + total);
  file.set(type);
  file.set(writeIndex(offset), type.length);
  file.set([...toU32(total + 8), ...toASCII("mdat")], offset - 8);
  let at = offset;
  for (const [index, frame] of frames.entries()) {
    file.set(samples[index] ?? [], at);
    file.set(frame, at + 4);
    at += frame.length + 4;
  }
  return file;
}

function writeMovie(
  track: Track,
  sizes: readonly number[],
  sequence: Bytes,
  frame: Bytes,
  offset: number,
): number[] {
  const { framesPerSecond: rate } = track;
  const length = sizes.length;
  const header = [0, 0, rate, length].flatMap(toU32);
  return writeBox(
    "moov",
    writeFullBox(
      "mvhd",
      0,
      header,
      toU32(0x1_0000),
      toU16(0x100),
      createZeros(10),
      MATRIX,
      createZeros(24),
      toU32(2),
    ),
    writeBox(
      "trak",
      writeFullBox(
        "tkhd",
        3,
        [0, 0, 1, 0, length].flatMap(toU32),
        createZeros(16),
        MATRIX,
        toU32(track.width << 16),
        toU32(track.height << 16),
      ),
      writeBox(
        "mdia",
        writeFullBox("mdhd", 0, header, toU16(0x55c4), toU16(0)),
        writeFullBox("hdlr", 0, toU32(0), toASCII("vide"), createZeros(12), toASCII("Video"), [0]),
        writeBox(
          "minf",
          writeFullBox("vmhd", 1, createZeros(8)),
          writeBox("dinf", writeFullBox("dref", 0, toU32(1), writeFullBox("url ", 1))),
          writeBox(
            "stbl",
            writeFullBox("stsd", 0, toU32(1), writeSampleEntry(track, sequence, frame)),
            writeFullBox("stts", 0, [1, length, 1].flatMap(toU32)),
            writeFullBox("stss", 0, [1, 1].flatMap(toU32)),
            writeFullBox("stsc", 0, [1, 1, length, 1].flatMap(toU32)),
            writeFullBox("stsz", 0, [0, length, ...sizes].flatMap(toU32)),
            writeFullBox("stco", 0, [1, offset].flatMap(toU32)),
          ),
        ),
      ),
    ),
  );
}

function writeSampleEntry({ width, height }: Track, sequence: Bytes, frame: Bytes): number[] {
  const size = [...toU16(width), ...toU16(height)];
  const settings = writeBox(
    "avcC",
    [1, ...sequence.subarray(1, 4), 0xff, 0xe1],
    [...toU16(sequence.length), ...sequence],
    [1, ...toU16(frame.length), ...frame],
  );
  const resolution = [...toU32(0x48_0000), ...toU32(0x48_0000)];
  return writeBox(
    "avc1",
    createZeros(6),
    toU16(1),
    createZeros(16),
    size,
    resolution,
    toU32(0),
    toU16(1),
    createZeros(32),
    toU16(24),
    toU16(0xffff),
    settings,
  );
}

function writeFullBox(type: string, flags: number, ...parts: readonly (readonly number[])[]): number[] {
  return writeBox(type, toU32(flags), ...parts);
}

function writeBox(type: string, ...parts: readonly (readonly number[])[]): number[] {
  const content = parts.flat();
  return [...toU32(content.length + 8), ...toASCII(type), ...content];
}

function toU32(value: number): number[] {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff);
}

function toU16(value: number): number[] {
  return [(value >>> 8) & 0xff, value & 0xff];
}

function toASCII(text: string): number[] {
  return [...text].map((character) => character.charCodeAt(0));
}

function createZeros(count: number): number[] {
  return Array.from({ length: count }, () => 0);
}
