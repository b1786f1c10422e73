import { brokenRule, brokenRuleAtRest, leftBy } from "./invariants.js";
import type { Plan } from "./plan.js";
import { act } from "./steps.js";
import { storesWhatFits } from "./storage-rules.js";
import { quiet } from "./timeline.js";
import { createWorld, type World } from "./world.js";

/** The run of one plan. */
export interface Run {
  /** The rule that was broken; undefined where all held. */
  readonly failure: string | undefined;
  /** Number of steps that were done. */
  readonly steps: number;
  /** Number of events: timers, pieces of answers, reads and writes, messages between tabs. */
  readonly events: number;
  /** Milliseconds that passed in the world. */
  readonly simulatedMs: number;
  /** All that happened, in order. */
  readonly trace: readonly string[];
}

/** Milliseconds after which everything has come to its end: no limit of a request or a task is longer. */
const REST_MS = 2_400_000;

/** Milliseconds after which a store that no component shows is closed. */
const LINGER_MS = 900_000;

/** Runs a plan in a new world, until a rule is broken or all is at rest. */
export async function simulate(plan: Plan): Promise<Run> {
  const world = createWorld(plan);
  const uncaught: unknown[] = [];
  const catchError = (error: unknown) => void uncaught.push(error);
  const { stackTraceLimit } = Error;
  // a third of the time goes into stacks of errors that are expected
  Error.stackTraceLimit = 0;
  process.on("uncaughtException", catchError);
  process.on("unhandledRejection", catchError);
  let steps = 0;
  try {
    const failure = (await live(world, plan, () => ++steps).catch(String)) ?? uncaughtIn(uncaught);
    const { timeline, trace } = world;
    if (failure) world.log(failure);
    return { failure, steps, events: timeline.events, simulatedMs: timeline.now(), trace };
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
    process.off("uncaughtException", catchError);
    process.off("unhandledRejection", catchError);
    world.restore();
  }
}

function uncaughtIn([error]: readonly unknown[]): string | undefined {
  return error === undefined ? undefined : `uncaught: ${(error as Error)?.stack ?? error}`;
}

async function live(world: World, plan: Plan, onStep: () => void): Promise<string | undefined> {
  const { timeline, open } = world;
  for (let nth = 0; nth < plan.tabs; nth += 1) open();
  for (const [index, step] of plan.steps.entries()) {
    await timeline.runUntil(timeline.now() + step.afterMs);
    onStep();
    act(world, step, index);
    await quiet();
    const broken = brokenRule(world);
    if (broken) return broken;
  }
  return comeToRest(world, plan);
}

/** Ends all faults, waits until nothing is in flight, and looks at what is left. */
async function comeToRest(world: World, plan: Plan): Promise<string | undefined> {
  const { timeline, tabs, network, proxy, gateway, disk, open } = world;
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
    const broken = storesWhatFits(world);
    if (broken) return broken;
    disk.change("well");
    await timeline.runUntil(timeline.now() + REST_MS);
  }
  const fresh = open();
  for (const { tree } of tabs) tree?.probe();
  await timeline.runUntil(timeline.now() + 10_000);
  const broken = brokenRule(world) ?? brokenRuleAtRest(world, fresh);
  if (broken) return broken;
  const apps = [...tabs, ...(world.stranger ? [world.stranger] : [])];
  for (const tab of apps) tab.close();
  await timeline.runUntil(timeline.now() + 10_000 + (plan.view === "stores" ? 0 : LINGER_MS));
  for (const tab of apps) {
    const left = leftBy(world, tab);
    if (left) return left;
  }
  return undefined;
}
