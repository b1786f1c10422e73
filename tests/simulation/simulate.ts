import { findBrokenRule, findBrokenRuleAtRest, findLeftBy } from "./invariants.js";
import type { Plan } from "./plan.js";
import { createSimulation, type Simulation } from "./simulation.js";
import { act } from "./steps.js";
import { storesWhatFits } from "./storage-rules.js";
import { waitForQuiet } from "./timeline.js";

/** The run of one plan. */
export interface Run {
  /** The rule that was broken; undefined where all held. */
  readonly failure: string | undefined;
  /** Number of steps that were done. */
  readonly steps: number;
  /** Number of events: timers, chunks of responses, reads and writes, messages between tabs. */
  readonly events: number;
  /** Milliseconds that passed in the simulation. */
  readonly simulatedMs: number;
  /** All that happened, in order. */
  readonly trace: readonly string[];
}

/** Milliseconds after which everything has come to its end: no limit of a request or a task is longer. */
const REST_MS = 2_400_000;

/** Milliseconds after which a store that no component shows is closed. */
const LINGER_MS = 900_000;

/** Runs a plan in a new simulation, until a rule is broken or all is at rest. */
export async function simulate(plan: Plan): Promise<Run> {
  const simulation = createSimulation(plan);
  const uncaught: unknown[] = [];
  const catchError = (error: unknown) => void uncaught.push(error);
  const { stackTraceLimit } = Error;
  // a third of the time goes into stacks of errors that are expected
  Error.stackTraceLimit = 0;
  process.on("uncaughtException", catchError);
  process.on("unhandledRejection", catchError);
  let steps = 0;
  try {
    const failure = (await runSteps(simulation, plan, () => ++steps).catch(String)) ?? findUncaught(uncaught);
    const { timeline, trace } = simulation;
    if (failure) simulation.log(failure);
    return { failure, steps, events: timeline.events, simulatedMs: timeline.now(), trace };
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    process.off("uncaughtException", catchError);
    process.off("unhandledRejection", catchError);
    simulation.restore();
  }
}

function findUncaught([error]: readonly unknown[]): string | undefined {
  return error === undefined ? undefined : `uncaught: ${(error as Error)?.stack ?? error}`;
}

async function runSteps(simulation: Simulation, plan: Plan, onStep: () => void): Promise<string | undefined> {
  const { timeline, open } = simulation;
  for (let nth = 0; nth < plan.tabs; nth += 1) open();
  for (const [index, step] of plan.steps.entries()) {
    await timeline.runUntil(timeline.now() + step.afterMs);
    onStep();
    act(simulation, step, index);
    await waitForQuiet();
    const broken = findBrokenRule(simulation);
    if (broken) return broken;
  }
  return waitForRest(simulation, plan);
}

/** Ends all faults, waits until nothing is in flight, and checks what remains. */
async function waitForRest(simulation: Simulation, plan: Plan): Promise<string | undefined> {
  const { timeline, tabs, network, proxy, gateway, disk, open } = simulation;
  network.isDown = false;
  network.disarm();
  gateway.disarm();
  proxy?.upstream.disarm();
  proxy?.objects.network.disarm();
  const isTight = disk.mode === "tight";
  if (!isTight) disk.change("well");
  for (const tab of tabs) {
    const { page } = tab;
    page.isOnline = true;
    page.isHidden = false;
    tab.isSignedOut = false;
    page.thaw();
    tab.tree?.showAll();
    page.run(() => {
      page.window.dispatchEvent(new Event("online"));
      page.document.dispatchEvent(new Event("visibilitychange"));
    });
  }
  await timeline.runUntil(timeline.now() + REST_MS);
  if (isTight) {
    const broken = storesWhatFits(simulation);
    if (broken) return broken;
    disk.change("well");
    await timeline.runUntil(timeline.now() + REST_MS);
  }
  const fresh = open();
  for (const { tree } of tabs) tree?.probe();
  await timeline.runUntil(timeline.now() + 10_000);
  const broken = findBrokenRule(simulation) ?? findBrokenRuleAtRest(simulation, fresh);
  if (broken) return broken;
  const apps = [...tabs, ...(simulation.stranger ? [simulation.stranger] : [])];
  for (const tab of apps) tab.close();
  await timeline.runUntil(timeline.now() + 10_000 + (plan.view === "stores" ? 0 : LINGER_MS));
  for (const tab of apps) {
    const left = findLeftBy(simulation, tab);
    if (left) return left;
  }
  return undefined;
}
