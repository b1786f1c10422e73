const { SLUICE_SEED = "20261122", SLUICE_RUNS } = process.env as {
  SLUICE_SEED?: string;
  SLUICE_RUNS?: string;
};

/** The seed of this run: always the same, unless the test command has another (`--seed 7`). */
export const SEED = Number(SLUICE_SEED);

/**
 * Number of runs, unless the test command has another (`--runs 100000`).
 *
 * @param share part of that number which is taken, for runs that are slow
 */
export const countRuns = (usual: number, share = 1) =>
  SLUICE_RUNS ? Math.max(1, Math.round(Number(SLUICE_RUNS) * share)) : usual;

export type Random = ReturnType<typeof openRandom>;

/** Numbers, choices and chances, always the same ones for one seed. */
export function openRandom(seed: number) {
  let state = seed;
  return {
    one: <T>(of: readonly T[]): T => of[below(of.length)] as T,
    rarely: (chance: number) => random() < chance,
    below,
  };

  /** A whole number from 0 up, below `max`. */
  function below(max: number): number {
    return Math.floor(random() * max);
  }

  /** From 0 up to 1. */
  function random(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
