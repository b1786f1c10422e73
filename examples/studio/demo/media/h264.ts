import type { Painting } from "./art/paint.ts";

/*
 * H.264 in its simplest form. The first frame has raw pixels (I_PCM). Each other frame says for each block of 16 x 16
 * pixels from where in the first frame it is copied, which takes some bytes. No other frame is a reference, so that no
 * error adds up.
 */

/** Movement of a block in a frame: the place that it is copied from, in pixels from its own. */
export type Motion = (frame: number, column: number, row: number) => readonly [right: number, down: number];

/** Encoded frames, and the head that a player needs. */
export interface Encoded {
  readonly sequence: Uint8Array<ArrayBuffer>;
  readonly picture: Uint8Array<ArrayBuffer>;
  readonly frames: readonly Uint8Array<ArrayBuffer>[];
}

interface Grid {
  readonly columns: number;
  readonly rows: number;
}

const BLOCK = 16;

/** Encodes `frames` frames. Of each, the leftmost `visible` columns are shown, so that a movement has room. */
export function encode(painting: Painting, visible: number, frames: number, motion: Motion): Encoded {
  const grid = { columns: Math.ceil(painting.width / BLOCK), rows: Math.ceil(painting.height / BLOCK) };
  const others = Array.from({ length: frames - 1 }, (_, index) => movedFrame(grid, index + 1, motion));
  return {
    sequence: sequenceHead(grid, visible, painting.height),
    picture: pictureHead(),
    frames: [rawFrame(painting, grid), ...others],
  };
}

function sequenceHead({ columns, rows }: Grid, width: number, height: number): Uint8Array<ArrayBuffer> {
  const bits = createBits();
  // constrained baseline, level 3.1
  for (const byte of [66, 0xc0, 31]) bits.put(byte, 8);
  // id, bits of the frame number, order by numbers of 16 bits, one reference frame
  for (const value of [0, 0, 0, 12, 1]) bits.unsigned(value);
  bits.put(0, 1);
  bits.unsigned(columns - 1);
  bits.unsigned(rows - 1);
  bits.put(0b111, 3);
  // cropped at the right and at the bottom, in steps of two pixels
  for (const crop of [0, (columns * BLOCK - width) / 2, 0, (rows * BLOCK - height) / 2]) bits.unsigned(crop);
  // colors of BT.709 in the limited range
  bits.put(0b100_1, 4);
  bits.put(5, 3);
  bits.put(0b01, 2);
  for (const standard of [1, 1, 1]) bits.put(standard, 8);
  // no times here; frames are shown in the order in which they come
  bits.put(0b000001, 6);
  bits.put(1, 1);
  for (const value of [0, 0, 12, 12, 0, 1]) bits.unsigned(value);
  return bits.unit(0x67);
}

function pictureHead(): Uint8Array<ArrayBuffer> {
  const bits = createBits();
  bits.unsigned(0);
  bits.unsigned(0);
  bits.put(0, 2);
  for (const value of [0, 0, 0]) bits.unsigned(value);
  bits.put(0, 3);
  for (const value of [0, 0, 0]) bits.signed(value);
  // frames say that edges are not smoothed
  bits.put(0b100, 3);
  return bits.unit(0x68);
}

/** Writes the head of a frame. Frame 0 is the reference; all others have the number 1, since none is one. */
function frameHead(frame: number): Bits {
  const bits = createBits();
  for (const value of [0, frame === 0 ? 7 : 5, 0]) bits.unsigned(value);
  bits.put(frame === 0 ? 0 : 1, 4);
  if (frame === 0) bits.unsigned(0);
  bits.put((2 * frame) & 0xffff, 16);
  bits.put(0, 2);
  bits.signed(0);
  bits.unsigned(1);
  return bits;
}

function rawFrame(painting: Painting, { columns, rows }: Grid): Uint8Array<ArrayBuffer> {
  const planes = planesOf(painting, columns * BLOCK, rows * BLOCK);
  const bits = frameHead(0);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      bits.unsigned(25);
      bits.align();
      for (const [at, plane] of planes.entries()) {
        const size = at === 0 ? BLOCK : BLOCK / 2;
        for (let y = 0; y < size; y++) {
          const start = (row * size + y) * columns * size + column * size;
          bits.bytes(plane, start, size);
        }
      }
    }
  return bits.unit(0x65);
}

/** Converts to brightness and two color planes of half the size. What lies outside repeats the edge. */
function planesOf(
  { width, height, bytes }: Painting,
  fullWidth: number,
  fullHeight: number,
): readonly Uint8Array[] {
  const bright = new Uint8Array(fullWidth * fullHeight);
  const [blue, red] = [new Uint8Array(bright.length / 4), new Uint8Array(bright.length / 4)];
  for (let y = 0; y < fullHeight; y++)
    for (let x = 0; x < fullWidth; x++) {
      const at = 3 * (Math.min(y, height - 1) * width + Math.min(x, width - 1));
      const [r, g, b] = [bytes[at] as number, bytes[at + 1] as number, bytes[at + 2] as number];
      bright[y * fullWidth + x] = 16.5 + 0.1826 * r + 0.6142 * g + 0.062 * b;
      if (x % 2 !== 0 || y % 2 !== 0) continue;
      const half = ((y / 2) * fullWidth) / 2 + x / 2;
      blue[half] = 128.5 - 0.1006 * r - 0.3386 * g + 0.4392 * b;
      red[half] = 128.5 + 0.4392 * r - 0.3989 * g - 0.0403 * b;
    }
  return [bright, blue, red];
}

function movedFrame({ columns, rows }: Grid, frame: number, motion: Motion): Uint8Array<ArrayBuffer> {
  const bits = frameHead(frame);
  const moves = new Int16Array(2 * columns * rows);
  let skipped = 0;
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const at = 2 * (row * columns + column);
      // in quarters of a pixel
      const [right, down] = motion(frame, column, row).map((pixels) => Math.round(pixels * 4)) as [
        number,
        number,
      ];
      moves[at] = right;
      moves[at + 1] = down;
      const [expectedRight, expectedDown] = expectedMove(moves, columns, column, row);
      const stays = row === 0 || column === 0 || isStill(moves, at - 2) || isStill(moves, at - 2 * columns);
      if (right === (stays ? 0 : expectedRight) && down === (stays ? 0 : expectedDown)) {
        skipped++;
        continue;
      }
      bits.unsigned(skipped);
      skipped = 0;
      bits.unsigned(0);
      bits.signed(right - expectedRight);
      bits.signed(down - expectedDown);
      bits.unsigned(0);
    }
  if (skipped > 0) bits.unsigned(skipped);
  return bits.unit(0x01);
}

function isStill(moves: Int16Array, at: number): boolean {
  return moves[at] === 0 && moves[at + 1] === 0;
}

/** Returns the move that a decoder expects: the middle one of the neighbours at the left, above, and above right. */
function expectedMove(
  moves: Int16Array,
  columns: number,
  column: number,
  row: number,
): readonly [number, number] {
  const at = 2 * (row * columns + column);
  if (row === 0) return column === 0 ? [0, 0] : [moves[at - 2] ?? 0, moves[at - 1] ?? 0];
  const above = at - 2 * columns;
  // at the right edge, above left instead
  const corner = column + 1 < columns ? above + 2 : above - 2;
  const middle = (part: number) => {
    const left = column > 0 ? (moves[at - 2 + part] ?? 0) : 0;
    const [up, side] = [moves[above + part] ?? 0, moves[corner + part] ?? 0];
    return Math.max(Math.min(left, up), Math.min(Math.max(left, up), side));
  };
  return [middle(0), middle(1)];
}

type Bits = ReturnType<typeof createBits>;

/** Collects bits; `unit` ends them and makes a NAL unit. */
function createBits() {
  let buffer = new Uint8Array(1024);
  let length = 0;
  let current = 0;
  let free = 8;
  return { put, unsigned, signed, align, bytes, unit };

  function put(value: number, count: number) {
    for (let bit = count - 1; bit >= 0; bit--) {
      current = (current << 1) | ((value >>> bit) & 1);
      if (--free === 0) push();
    }
  }

  function push() {
    reserve(1);
    buffer[length++] = current;
    current = 0;
    free = 8;
  }

  function reserve(count: number) {
    if (length + count <= buffer.length) return;
    const larger = new Uint8Array(2 * (length + count));
    larger.set(buffer);
    buffer = larger;
  }

  /** Writes an Exp-Golomb code. */
  function unsigned(value: number) {
    const digits = 32 - Math.clz32(value + 1);
    put(0, digits - 1);
    put(value + 1, digits);
  }

  function signed(value: number) {
    unsigned(value > 0 ? 2 * value - 1 : -2 * value);
  }

  function align() {
    if (free < 8) put(0, free);
  }

  function bytes(source: Uint8Array, start: number, count: number) {
    reserve(count);
    buffer.set(source.subarray(start, start + count), length);
    length += count;
  }

  function unit(type: number): Uint8Array<ArrayBuffer> {
    put(1, 1);
    align();
    const whole = new Uint8Array(1 + Math.ceil(length * 1.5));
    whole[0] = type;
    let end = 1;
    let zeros = 0;
    for (let at = 0; at < length; at++) {
      const byte = buffer[at] as number;
      // three bytes that would look like the start of a unit get a 3 between them
      if (zeros === 2 && byte <= 3) {
        whole[end++] = 3;
        zeros = 0;
      }
      whole[end++] = byte;
      zeros = byte === 0 ? zeros + 1 : 0;
    }
    return whole.slice(0, end);
  }
}
