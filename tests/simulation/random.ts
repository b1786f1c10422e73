/** Returns numbers from 0 up to, but not including, 1. */
export type Random = () => number;

/** Creates the random numbers of one part of a simulation. Parts do not disturb each other: each has its own numbers. */
export function createRandom(seed: number, part: string): Random {
  // FNV-1a over the name of the part
  let state = seed >>> 0;
  for (const letter of part) state = Math.imul(state ^ letter.charCodeAt(0), 0x01000193) >>> 0;
  // mulberry32
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a whole number from `low` to `high`. */
export function pickBetween(random: Random, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1));
}

/** Returns a key of `weights`, the more often the greater its weight. */
export function pickWeighted<Key extends string>(
  random: Random,
  weights: Readonly<Record<Key, number>>,
): Key {
  const entries = Object.entries(weights) as [Key, number][];
  let rest = random() * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [key, weight] of entries) {
    rest -= weight;
    if (rest < 0) return key;
  }
  return (entries[0] as [Key, number])[0];
}

/** Returns the item at `nth`, counted around the list; undefined for an empty list. */
export function pickNth<Item>(list: readonly Item[], nth: number): Item | undefined {
  return list[nth % Math.max(list.length, 1)];
}
