import type { Bytes } from "../server/http.js";

/** Encoded frames, and the heads that a player needs. */
export interface Encoded {
  readonly sequence: Bytes;
  readonly picture: Bytes;
  readonly frames: readonly Bytes[];
}

/** Size and speed of a video. */
export interface Track {
  readonly width: number;
  readonly height: number;
  readonly framesPerSecond: number;
}

const MATRIX = [1, 0, 0, 0, 1, 0, 0, 0, 0x4000].flatMap((value, at) =>
  u32(at === 8 ? 0x4000_0000 : value << 16),
);

/** Writes an MP4 with one video track and its index in front. */
export function writeMP4({ sequence, picture, frames }: Encoded, track: Track): Bytes {
  const samples = frames.map((frame) => [...u32(frame.length)]);
  const sizes = frames.map(({ length }) => length + 4);
  const type = box("ftyp", ascii("isom"), u32(0x200), ascii("isomiso2avc1mp41"));
  const moov = (offset: number) => movie(track, sizes, sequence, picture, offset);
  const offset = type.length + moov(0).length + 8;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const file = new Uint8Array(offset + total);
  file.set(type);
  file.set(moov(offset), type.length);
  file.set([...u32(total + 8), ...ascii("mdat")], offset - 8);
  let at = offset;
  for (const [index, frame] of frames.entries()) {
    file.set(samples[index] ?? [], at);
    file.set(frame, at + 4);
    at += frame.length + 4;
  }
  return file;
}

function movie(
  track: Track,
  sizes: readonly number[],
  sequence: Bytes,
  picture: Bytes,
  offset: number,
): number[] {
  const { framesPerSecond: rate } = track;
  const length = sizes.length;
  const header = [0, 0, rate, length].flatMap(u32);
  return box(
    "moov",
    full("mvhd", 0, header, u32(0x1_0000), u16(0x100), zeros(10), MATRIX, zeros(24), u32(2)),
    box(
      "trak",
      full(
        "tkhd",
        3,
        [0, 0, 1, 0, length].flatMap(u32),
        zeros(16),
        MATRIX,
        u32(track.width << 16),
        u32(track.height << 16),
      ),
      box(
        "mdia",
        full("mdhd", 0, header, u16(0x55c4), u16(0)),
        full("hdlr", 0, u32(0), ascii("vide"), zeros(12), ascii("Video"), [0]),
        box(
          "minf",
          full("vmhd", 1, zeros(8)),
          box("dinf", full("dref", 0, u32(1), full("url ", 1))),
          box(
            "stbl",
            full("stsd", 0, u32(1), sampleEntry(track, sequence, picture)),
            full("stts", 0, [1, length, 1].flatMap(u32)),
            full("stss", 0, [1, 1].flatMap(u32)),
            full("stsc", 0, [1, 1, length, 1].flatMap(u32)),
            full("stsz", 0, [0, length, ...sizes].flatMap(u32)),
            full("stco", 0, [1, offset].flatMap(u32)),
          ),
        ),
      ),
    ),
  );
}

function sampleEntry({ width, height }: Track, sequence: Bytes, picture: Bytes): number[] {
  const size = [...u16(width), ...u16(height)];
  const settings = box(
    "avcC",
    [1, ...sequence.subarray(1, 4), 0xff, 0xe1],
    [...u16(sequence.length), ...sequence],
    [1, ...u16(picture.length), ...picture],
  );
  const resolution = [...u32(0x48_0000), ...u32(0x48_0000)];
  return box(
    "avc1",
    zeros(6),
    u16(1),
    zeros(16),
    size,
    resolution,
    u32(0),
    u16(1),
    zeros(32),
    u16(24),
    u16(0xffff),
    settings,
  );
}

function full(type: string, flags: number, ...parts: readonly (readonly number[])[]): number[] {
  return box(type, u32(flags), ...parts);
}

function box(type: string, ...parts: readonly (readonly number[])[]): number[] {
  const content = parts.flat();
  return [...u32(content.length + 8), ...ascii(type), ...content];
}

function u32(value: number): number[] {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff);
}

function u16(value: number): number[] {
  return [(value >>> 8) & 0xff, value & 0xff];
}

function ascii(text: string): number[] {
  return [...text].map((letter) => letter.charCodeAt(0));
}

function zeros(count: number): number[] {
  return Array.from({ length: count }, () => 0);
}
