import { type DevicePlan, devicePlanOf } from "./device-plan.js";
import { brokenDeviceRule, brokenDeviceRuleAtRest, leftByDevice } from "./device-rules.js";
import { actOnDevices, setOnline } from "./device-steps.js";
import { createDeviceWorld, type DeviceWorld } from "./device-world.js";
import { quiet } from "./timeline.js";

export { devicePlanOf } from "./device-plan.js";
export { setOnline } from "./device-steps.js";
export { createDeviceWorld } from "./device-world.js";

/** The run of one plan. */
interface DeviceRun {
  /** The rule that was broken; undefined where all held. */
  readonly failure: string | undefined;
  readonly steps: number;
  readonly events: number;
  readonly simulatedMs: number;
  readonly trace: readonly string[];
}

/** Milliseconds after which everything has come to its end. */
const REST_MS = 2_400_000;

/** Runs a plan in a new world, until a rule is broken or all is at rest. */
export async function simulateDevices(plan: DevicePlan): Promise<DeviceRun> {
  const world = createDeviceWorld(plan);
  const uncaught: unknown[] = [];
  const catchError = (error: unknown) => void uncaught.push(error);
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  process.on("uncaughtException", catchError);
  process.on("unhandledRejection", catchError);
  let steps = 0;
  try {
    let failure = await live(world, plan, () => ++steps).catch(String);
    if (!failure && uncaught.length > 0)
      failure = `uncaught: ${(uncaught[0] as Error)?.stack ?? uncaught[0]}`;
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

async function live(world: DeviceWorld, plan: DevicePlan, onStep: () => void): Promise<string | undefined> {
  const { timeline, open, devices } = world;
  for (const nth of devices.keys()) open(nth);
  for (const [index, step] of plan.steps.entries()) {
    await timeline.runUntil(timeline.now() + step.afterMs);
    onStep();
    actOnDevices(world, step, index);
    await quiet();
    const broken = brokenDeviceRule(world);
    if (broken) return broken;
  }
  return comeToRest(world);
}

/** Ends all faults, waits until nothing is in flight, and looks at what is left. */
async function comeToRest(world: DeviceWorld): Promise<string | undefined> {
  const { timeline, tabs, network, proxy, devices, open } = world;
  network.disarm();
  proxy?.upstream.disarm();
  proxy?.objects.network.disarm();
  for (const tab of tabs) tab.page.thaw();
  for (const device of devices) {
    device.isSlow = false;
    device.answersLost = 0;
    setOnline(world, device, true);
  }
  // what a device has kept reaches the others when one of its pages is open
  for (const nth of devices.keys()) open(nth);
  await timeline.runUntil(timeline.now() + REST_MS);
  const broken = brokenDeviceRule(world) ?? brokenDeviceRuleAtRest(world);
  if (broken) return broken;
  for (const tab of tabs) tab.close();
  await timeline.runUntil(timeline.now() + 60_000);
  for (const tab of tabs) {
    const left = leftByDevice(world, tab);
    if (left) return left;
  }
  return undefined;
}

/**
 * Runs the seeds from `first` on.
 *
 * @param isEnough returns true to stop after a failing seed. @default stops never
 */
export async function searchDevices(first: number, count: number, isEnough: () => boolean = () => false) {
  const failing = new Map<string, number[]>();
  const counts = new Map<string, number>();
  let [steps, events, simulatedMs] = [0, 0, 0];
  for (let seed = first; seed < first + count; seed += 1) {
    const plan = devicePlanOf(seed);
    const run = await simulateDevices(plan);
    steps += run.steps;
    events += run.events;
    simulatedMs += run.simulatedMs;
    for (const step of plan.steps.slice(0, run.steps)) counts.set(step.do, (counts.get(step.do) ?? 0) + 1);
    const kind = kindOf(run);
    if (kind === undefined) continue;
    failing.set(kind, [...(failing.get(kind) ?? []), seed]);
    if (isEnough()) break;
  }
  return { seeds: count, steps, events, simulatedMs, counts, failing };
}

/** Finds the fewest steps that break the same rule. */
export async function shortestDevices(
  seed: number,
): Promise<{ readonly plan: DevicePlan; readonly run: DeviceRun }> {
  let plan = devicePlanOf(seed);
  let run = await simulateDevices(plan);
  const kind = kindOf(run);
  for (let size = plan.steps.length; size >= 1; size = size >> 1) {
    for (let start = 0; start < plan.steps.length; ) {
      const fewer = { ...plan, steps: [...plan.steps.slice(0, start), ...plan.steps.slice(start + size)] };
      const shorter = await simulateDevices(fewer);
      if (kindOf(shorter) === kind) [plan, run] = [fewer, shorter];
      else start += size;
    }
  }
  return { plan, run };
}

/** Returns the rule that a run broke, without names and numbers. */
function kindOf({ failure }: DeviceRun): string | undefined {
  return failure?.replace(/"(?:[^"\\]|\\.)*"|\d+/g, "…").slice(0, 60);
}
