/** Source of numbers from 0 to 1; the same seed gives the same numbers. */
export type Random = () => number;

/** Smooth noise at a point, from -1 to 1. */
export type Noise = (x: number, y: number) => number;

/** Creates a source of numbers (mulberry32). */
export function createRandom(seed: string): Random {
  let state = hashText(seed);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** Hashes a text (two FNV-1a hashes). */
function hashText(text: string): number {
  let left = 0x811c9dc5;
  let right = 0x3c6ef372;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    left = Math.imul(left ^ unit, PRIME);
    right = Math.imul(right ^ unit ^ (at & 0xff), PRIME);
  }
  return left ^ (right >>> 15);
}

const PRIME = 0x01000193;

/** Creates gradient noise: a random slope at each whole point, joined by smooth curves. */
export function createNoise(seed: string): Noise {
  const random = createRandom(`${seed} noise`);
  const order = new Uint8Array(512);
  for (let at = 0; at < 256; at++) order[at] = at;
  for (let at = 255; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    const swapped = order[at] as number;
    order[at] = order[other] as number;
    order[other] = swapped;
  }
  order.copyWithin(256, 0, 256);
  const slopes = Float32Array.from({ length: 512 }, (_, at) => {
    const turn = ((at >> 1) / 256) * 2 * Math.PI;
    return 1.5 * (at % 2 === 0 ? Math.cos(turn) : Math.sin(turn));
  });
  const corner = (position: number, x: number, y: number) => {
    const at = 2 * (order[position] as number);
    return (slopes[at] as number) * x + (slopes[at + 1] as number) * y;
  };

  return (x, y) => {
    const column = Math.floor(x);
    const row = Math.floor(y);
    const dx = x - column;
    const dy = y - row;
    const across = dx * dx * dx * (dx * (dx * 6 - 15) + 10);
    const down = dy * dy * dy * (dy * (dy * 6 - 15) + 10);
    const left = order[column & 255] as number;
    const right = order[(column + 1) & 255] as number;
    const up = row & 255;
    const low = (row + 1) & 255;
    const above = corner(left + up, dx, dy);
    const below = corner(left + low, dx, dy - 1);
    const top = above + across * (corner(right + up, dx - 1, dy) - above);
    const bottom = below + across * (corner(right + low, dx - 1, dy - 1) - below);
    return top + down * (bottom - top);
  };
}

/** Adds `octaves` of noise, each twice as fine and half as strong. */
export function layerNoise(noise: Noise, octaves: number): Noise {
  let total = 0;
  for (let octave = 0; octave < octaves; octave++) total += 0.5 ** octave;
  return (x, y) => {
    let sum = 0;
    let scale = 1;
    for (let octave = 0; octave < octaves; octave++, scale *= 2)
      sum += noise(x * scale + 17 * octave, y * scale) / scale;
    return sum / total;
  };
}

/** Like {@link layerNoise}, but with sharp crests: 1 at a crest, 0 in a valley. */
export function createCrests(noise: Noise, octaves: number): Noise {
  return (x, y) => {
    let sum = 0;
    let weight = 1;
    let share = 0.5;
    let scale = 1;
    for (let octave = 0; octave < octaves; octave++, scale *= 2.1, share /= 2) {
      const crest = (1 - Math.min(1, Math.abs(noise(x * scale + 31 * octave, y * scale)))) ** 2 * weight;
      sum += crest * share;
      weight = Math.min(1, crest * 1.6);
    }
    return sum;
  };
}

/** Runs from 0 at `from` to 1 at `to` along a smooth curve. */
export function smoothStep(from: number, to: number, value: number): number {
  const share = Math.min(1, Math.max(0, (value - from) / (to - from)));
  return share * share * (3 - 2 * share);
}
