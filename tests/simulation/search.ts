import { createPlan, describeStep } from "./plan.js";
import { type Failing, getKind, shrink } from "./shrink.js";
import { simulate } from "./simulate.js";

/** Figures of a search. */
interface Figures {
  readonly seeds: number;
  readonly steps: number;
  readonly events: number;
  readonly simulatedMs: number;
  /** Number of steps of each kind; those with a fault by its name. */
  readonly counts: ReadonlyMap<string, number>;
  /** Failing seeds, by the rule that was broken. */
  readonly failing: ReadonlyMap<string, readonly number[]>;
}

/**
 * Runs the seeds from `first` on.
 *
 * @param isEnough returns true to stop after a failing seed. @default stops never
 */
export async function search(
  first: number,
  count: number,
  isEnough: () => boolean = () => false,
): Promise<Figures> {
  const counts = new Map<string, number>();
  const failing = new Map<string, readonly number[]>();
  let [seeds, steps, events, simulatedMs] = [0, 0, 0, 0];
  for (let seed = first; seed < first + count; seed += 1) {
    const plan = createPlan(seed);
    const run = await simulate(plan);
    seeds += 1;
    steps += run.steps;
    events += run.events;
    simulatedMs += run.simulatedMs;
    for (const step of plan.steps.slice(0, run.steps)) {
      const name = describeStep(step).replace(/, after \d+ pieces/, "");
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const kind = getKind(run);
    if (kind === undefined) continue;
    failing.set(kind, [...(failing.get(kind) ?? []), seed]);
    if (isEnough()) break;
  }
  return { seeds, steps, events, simulatedMs, counts, failing };
}

/** Runs a seed that fails again, and finds a shorter plan that fails in the same way. */
export async function findShortest(seed: number): Promise<Failing> {
  const plan = createPlan(seed);
  return shrink({ plan, run: await simulate(plan) });
}

/** Describes a failing plan for a reader: the simulation, and the steps with their times. */
export function report({ plan, run }: Failing): string {
  const steps = run.trace.filter((line) => !line.includes("s  · "));
  const simulation = `seed ${plan.seed}: ${plan.tabs} tabs at first, locks ${plan.locks}, whenBusy ${plan.whenBusy}`;
  return [simulation, ...steps].join("\n");
}
