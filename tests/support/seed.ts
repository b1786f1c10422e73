const { SLUICE_SEED = "20261122", SLUICE_RUNS } = process.env as {
  SLUICE_SEED?: string;
  SLUICE_RUNS?: string;
};

/**
 * Seed and number of runs of a property: the same each time, unless the environment has others
 * (`pnpm test --seed 7 --runs 100000`).
 *
 * @param runs default number of runs; `share` of the environment's number is used
 */
export function readRuns(runs: number, share = 1): { seed: number; numRuns: number } {
  return {
    numRuns: SLUICE_RUNS ? Math.max(1, Math.round(Number(SLUICE_RUNS) * share)) : runs,
    seed: Number(SLUICE_SEED),
  };
}
