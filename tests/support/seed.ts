const { SLUICE_SEED, SLUICE_RUNS } = process.env as { SLUICE_SEED?: string; SLUICE_RUNS?: string };

/**
 * Seed and number of runs of a property: those of the environment, for a longer run or to repeat one that failed
 * (`SLUICE_SEED=7 SLUICE_RUNS=100000`).
 *
 * @param runs number of runs where the environment says none; `share` of the environment's number is taken
 */
export function runsOf(runs: number, share = 1): { seed?: number; numRuns: number } {
  return {
    numRuns: SLUICE_RUNS ? Math.max(1, Math.round(Number(SLUICE_RUNS) * share)) : runs,
    ...(SLUICE_SEED && { seed: Number(SLUICE_SEED) }),
  };
}
