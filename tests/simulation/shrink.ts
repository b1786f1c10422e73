import type { Plan, Step } from "./plan.js";
import { type Run, simulate } from "./simulate.js";

/** A plan that fails, and its run. */
export interface Failing {
  readonly plan: Plan;
  readonly run: Run;
}

/**
 * Finds a shorter plan that breaks the same rule: fewer tabs, fewer steps, shorter waits. Texts of failures have names
 * and numbers, which may differ.
 *
 * @param tries number of runs at most
 */
export async function shrink(failing: Failing, tries = 600): Promise<Failing> {
  let best = failing;
  const kind = getKind(failing.run);
  const isBetter = async (change: Partial<Plan>): Promise<boolean> => {
    if (tries-- <= 0) return false;
    const plan = { ...best.plan, ...change };
    const run = await simulate(plan);
    if (getKind(run) !== kind) return false;
    best = { plan, run };
    return true;
  };

  await isBetter({ steps: best.plan.steps.slice(0, best.run.steps) });
  for (let size = best.plan.steps.length; size >= 1; size = size >> 1) {
    for (let start = 0; start < best.plan.steps.length; ) {
      const { steps } = best.plan;
      const isDropped = await isBetter({ steps: [...steps.slice(0, start), ...steps.slice(start + size)] });
      if (!isDropped) start += size;
    }
    // removing one step can make another step unnecessary
    if (size === 1 && (await dropOneMore())) size = 2;
  }
  while (best.plan.tabs > 1 && (await isBetter({ tabs: best.plan.tabs - 1 })));
  for (const index of best.plan.steps.keys()) await isBetter({ steps: makeQuicker(best.plan.steps, index) });
  return best;

  async function dropOneMore(): Promise<boolean> {
    for (const index of best.plan.steps.keys())
      if (await isBetter({ steps: best.plan.steps.filter((_, at) => at !== index) })) return true;
    return false;
  }
}

/** Returns the rule that a run broke, without names and numbers. */
export function getKind({ failure }: Run): string | undefined {
  return failure?.replace(/"(?:[^"\\]|\\.)*"|\d+/g, "…").slice(0, 60);
}

function makeQuicker(steps: readonly Step[], index: number): readonly Step[] {
  return steps.map((step, at) => (at === index ? { ...step, afterMs: 10 } : step));
}
