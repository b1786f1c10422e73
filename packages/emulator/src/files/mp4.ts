import type { Bytes } from "../server/http.js";

/** H.264 frames, with the sequence and picture parameter sets that a player needs. */
export interface EncodedVideo {
  readonly sequenceParameters: Bytes;
  readonly pictureParameters: Bytes;
  readonly frames: readonly Bytes[];
}

/** Size and frame rate of a video. */
export interface Track {
  readonly width: number;
  readonly height: number;
  readonly framesPerSecond: number;
}

/** No rotation: the unit matrix in fixed point, as every movie and track has it. */
const MATRIX = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000].flatMap(toU32);

/** Writes an MP4 with one video track and its index in front. */
export function writeMP4(video: EncodedVideo, track: Track): Bytes {
  // each frame is stored behind its length in four bytes
  const sizes = video.frames.map(({ length }) => length + 4);
  const type = writeBox("ftyp", toASCII("isom"), toU32(0x200), toASCII("isomiso2avc1mp41"));
  const writeIndex = (firstFrame: number) => writeMovie(track, sizes, video, firstFrame);
  // the length of the index does not depend on the position of the first frame
  const firstFrame = type.length + writeIndex(0).length + BOX_HEADER;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const file = new Uint8Array(firstFrame + total);
  file.set(type);
  file.set(writeIndex(firstFrame), type.length);
  file.set([...toU32(total + BOX_HEADER), ...toASCII("mdat")], firstFrame - BOX_HEADER);
  let position = firstFrame;
  for (const frame of video.frames) {
    file.set(toU32(frame.length), position);
    file.set(frame, position + 4);
    position += frame.length + 4;
  }
  return file;
}

/** Bytes of the length and the type of a box. */
const BOX_HEADER = 8;

/** Writes the index: the duration, the format, and the position and size of each frame. */
function writeMovie(
  track: Track,
  sizes: readonly number[],
  video: EncodedVideo,
  firstFrame: number,
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
            writeFullBox("stsd", 0, toU32(1), writeSampleEntry(track, video)),
            writeFullBox("stts", 0, [1, length, 1].flatMap(toU32)),
            writeFullBox("stss", 0, [1, 1].flatMap(toU32)),
            writeFullBox("stsc", 0, [1, 1, length, 1].flatMap(toU32)),
            writeFullBox("stsz", 0, [0, length, ...sizes].flatMap(toU32)),
            writeFullBox("stco", 0, [1, firstFrame].flatMap(toU32)),
          ),
        ),
      ),
    ),
  );
}

function writeSampleEntry(
  { width, height }: Track,
  { sequenceParameters, pictureParameters }: EncodedVideo,
): number[] {
  const size = [...toU16(width), ...toU16(height)];
  const settings = writeBox(
    "avcC",
    [1, ...sequenceParameters.subarray(1, 4), 0xff, 0xe1],
    [...toU16(sequenceParameters.length), ...sequenceParameters],
    [1, ...toU16(pictureParameters.length), ...pictureParameters],
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

/** Writes a box that begins with a version (0) and flags. */
function writeFullBox(type: string, flags: number, ...parts: readonly (readonly number[])[]): number[] {
  return writeBox(type, toU32(flags), ...parts);
}

function writeBox(type: string, ...parts: readonly (readonly number[])[]): number[] {
  const content = parts.flat();
  return [...toU32(content.length + BOX_HEADER), ...toASCII(type), ...content];
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
