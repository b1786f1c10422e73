import type { Bytes } from "../server/http.js";
import type { Bitmap } from "./media.js";
import { type EncodedVideo, writeMP4 } from "./mp4.js";

/*
 * Writes H.264 without an encoder. The first frame contains raw pixels (I_PCM). Every other frame says how far the first
 * frame moved sideways, in five bits for each block of 16 x 16 pixels. Headers are written as strings of bits. A start
 * code (two zero bytes) can never occur in the pixels, since brightness and colors are 16 or more.
 */

const FPS = 24;
const BLOCK = 16;
/** Bits of a frame's position in the display order, which counts half frames. */
const ORDER_BITS = 12;
/** Maximum distance that the image moves to the left, in pixels. As many pixels at its right are cropped. */
const TRAVEL = 48;
/** Seconds after which the image is back at its start. */
const PERIOD = 4;

/** Creates a video of an image, which moves to the left and back. */
export function writeVideo(bitmap: Bitmap, seconds: number): Blob {
  const { width, height } = bitmap;
  const frames = Math.max(1, Math.round(seconds * FPS));
  const bytes = writeMP4(encode(bitmap, frames), { width, height, framesPerSecond: FPS });
  return new Blob([bytes], { type: "video/mp4" });
}

function encode(bitmap: Bitmap, frames: number): EncodedVideo {
  const columns = Math.ceil((bitmap.width + TRAVEL) / BLOCK);
  const rows = Math.ceil(bitmap.height / BLOCK);
  const computeOffset = (frame: number) =>
    Math.round((TRAVEL / 2) * (1 - Math.cos((2 * Math.PI * frame) / (PERIOD * FPS))));
  const movedFrames = Array.from({ length: frames - 1 }, (_, index) =>
    encodeMovedFrame(index + 1, computeOffset(index + 1), columns * rows),
  );
  return {
    sequenceParameters: encodeSequenceParameters(bitmap, columns, rows),
    pictureParameters: Uint8Array.of(0x68, ...packBits("110011100011110011")),
    frames: [encodeFirstFrame(bitmap, columns, rows), ...movedFrames],
  };
}

function encodeSequenceParameters({ width, height }: Bitmap, columns: number, rows: number): Bytes {
  // constrained baseline, level 3.1
  const profile = [66, 0xc0, 31].map((value) => encodeFixed(value, 8)).join("");
  // id; frame numbers of 4 bits; display order in 12 bits; one reference frame
  const order = [0, 0, 0, ORDER_BITS - 4, 1].map(encodeUnsigned).join("");
  const size = `0${encodeUnsigned(columns - 1)}${encodeUnsigned(rows - 1)}11`;
  // crop at the right and at the bottom, in steps of two pixels
  const [right, bottom] = [(columns * BLOCK - width) / 2, (rows * BLOCK - height) / 2];
  const crop = `1${[0, right, 0, bottom].map(encodeUnsigned).join("")}`;
  return Uint8Array.of(0x67, ...packBits(`${profile}${order}${size}${crop}01`));
}

/**
 * Writes the first frame. A block is its type (25, raw pixels), then 256 values of brightness and twice 64 of color. The
 * header of the frame precedes the type of the first block.
 */
function encodeFirstFrame(bitmap: Bitmap, columns: number, rows: number): Bytes {
  const firstHead = packBits(
    `1${encodeUnsigned(7)}1${encodeFixed(0, 4)}1${encodeFixed(0, ORDER_BITS)}001${encodeUnsigned(1)}${encodeUnsigned(25)}`,
  );
  const head = packBits(encodeUnsigned(25));
  const planes = toPlanes(bitmap, columns * BLOCK, rows * BLOCK);
  const frame = new Uint8Array(firstHead.length + 2 + columns * rows * (head.length + 1.5 * BLOCK * BLOCK));
  let length = 0;
  const write = (bytes: ArrayLike<number>) => {
    frame.set(bytes, length);
    length += bytes.length;
  };
  write([0x65]);
  for (let block = 0; block < columns * rows; block++) {
    write(block === 0 ? firstHead : head);
    for (const [index, plane] of planes.entries()) {
      const side = index === 0 ? BLOCK : BLOCK / 2;
      const corner = (Math.floor(block / columns) * columns * side + (block % columns)) * side;
      for (let y = 0; y < side; y++) {
        const start = corner + y * columns * side;
        write(plane.subarray(start, start + side));
      }
    }
  }
  write([0x80]);
  return frame.slice(0, length);
}

/**
 * Converts to brightness (16 to 235) and two color planes of half the width and height, by BT.601. Pixels outside mirror
 * the image.
 */
function toPlanes({ width, height, fill }: Bitmap, fullWidth: number, fullHeight: number) {
  const bright = new Uint8Array(fullWidth * fullHeight);
  const [blue, red] = [new Uint8Array(bright.length / 4), new Uint8Array(bright.length / 4)];
  const row = new Uint8Array(3 * width);
  for (let y = 0; y < fullHeight; y++) {
    if (y < height) fill(y, row);
    for (let x = 0; x < fullWidth; x++) {
      const pixel = 3 * (x < width ? x : 2 * width - 1 - x);
      const [r, g, b] = [row[pixel] as number, row[pixel + 1] as number, row[pixel + 2] as number];
      bright[y * fullWidth + x] = 16.5 + 0.257 * r + 0.504 * g + 0.098 * b;
      if (x % 2 !== 0 || y % 2 !== 0) continue;
      const half = (y * fullWidth) / 4 + x / 2;
      blue[half] = 128.5 - 0.148 * r - 0.291 * g + 0.439 * b;
      red[half] = 128.5 + 0.439 * r - 0.368 * g - 0.071 * b;
    }
  }
  return [bright, blue, red];
}

/**
 * Writes the first frame moved by `left` pixels to the left. The first block has the vector, and all other blocks
 * predict it. No frame refers to a moved frame, because rounding errors would add up.
 */
function encodeMovedFrame(frame: number, left: number, blocks: number): Bytes {
  const order = encodeFixed(2 * frame, ORDER_BITS);
  const head = `1${encodeUnsigned(5)}1${encodeFixed(1, 4)}${order}001${encodeUnsigned(1)}`;
  // vectors count quarters of a pixel
  const firstBlock = `11${encodeSigned(4 * left)}11`;
  return Uint8Array.of(0x01, ...packBits(`${head}${firstBlock}${"1".repeat(5 * (blocks - 1))}1`));
}

/** Writes an unsigned Exp-Golomb code. */
function encodeUnsigned(value: number): string {
  const digits = (value + 1).toString(2);
  return digits.padStart(2 * digits.length - 1, "0");
}

function encodeSigned(value: number): string {
  return encodeUnsigned(value > 0 ? 2 * value - 1 : -2 * value);
}

function encodeFixed(value: number, digits: number): string {
  return value.toString(2).padStart(digits, "0");
}

/** Packs bits into bytes, padded with zeros. */
function packBits(bits: string): Bytes {
  return Uint8Array.from(bits.match(/.{1,8}/g) ?? [], (byte) => Number.parseInt(byte.padEnd(8, "0"), 2));
}
