import { createDevicePlan, type DevicePlan } from "./device-plan.js";
import { findBrokenDeviceRule, findBrokenDeviceRuleAtRest, findLeftByDevice } from "./device-rules.js";
import { createDeviceSimulation, type DeviceSimulation } from "./device-simulation.js";
import { actOnDevices, setOnline } from "./device-steps.js";
import { waitForQuiet } from "./timeline.js";

export { createDevicePlan } from "./device-plan.js";
export { createDeviceSimulation } from "./device-simulation.js";
export { setOnline } from "./device-steps.js";

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

/** Runs a plan in a new simulation, until a rule is broken or all is at rest. */
export async function simulateDevices(plan: DevicePlan): Promise<DeviceRun> {
  const simulation = createDeviceSimulation(plan);
  const uncaught: unknown[] = [];
  const catchError = (error: unknown) => void uncaught.push(error);
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  process.on("uncaughtException", catchError);
  process.on("unhandledRejection", catchError);
  let steps = 0;
  try {
    let failure = await runSteps(simulation, plan, () => ++steps).catch(String);
    if (!failure && uncaught.length > 0)
      failure = `uncaught: ${(uncaught[0] as Error)?.stack ?? uncaught[0]}`;
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

async function runSteps(
  simulation: DeviceSimulation,
  plan: DevicePlan,
  onStep: () => void,
): Promise<string | undefined> {
  const { timeline, open, devices } = simulation;
  for (const nth of devices.keys()) open(nth);
  for (const [index, step] of plan.steps.entries()) {
    await timeline.runUntil(timeline.now() + step.afterMs);
    onStep();
    actOnDevices(simulation, step, index);
    await waitForQuiet();
    const broken = findBrokenDeviceRule(simulation);
    if (broken) return broken;
  }
  return waitForRest(simulation);
}

/** Ends all faults, waits until nothing is in flight, and checks what remains. */
async function waitForRest(simulation: DeviceSimulation): Promise<string | undefined> {
  const { timeline, tabs, network, proxy, devices, open } = simulation;
  network.disarm();
  proxy?.upstream.disarm();
  proxy?.objects.network.disarm();
  for (const tab of tabs) tab.page.thaw();
  for (const device of devices) {
    device.isSlow = false;
    device.answersLost = 0;
    setOnline(simulation, device, true);
  }
  // stored records of a device reach the others once one of its pages is open
  for (const nth of devices.keys()) open(nth);
  await timeline.runUntil(timeline.now() + REST_MS);
  const broken = findBrokenDeviceRule(simulation) ?? findBrokenDeviceRuleAtRest(simulation);
  if (broken) return broken;
  for (const tab of tabs) tab.close();
  await timeline.runUntil(timeline.now() + 60_000);
  for (const tab of tabs) {
    const left = findLeftByDevice(simulation, tab);
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
    const plan = createDevicePlan(seed);
    const run = await simulateDevices(plan);
    steps += run.steps;
    events += run.events;
    simulatedMs += run.simulatedMs;
    for (const step of plan.steps.slice(0, run.steps)) counts.set(step.do, (counts.get(step.do) ?? 0) + 1);
    const kind = getKind(run);
    if (kind === undefined) continue;
    failing.set(kind, [...(failing.get(kind) ?? []), seed]);
    if (isEnough()) break;
  }
  return { seeds: count, steps, events, simulatedMs, counts, failing };
}

/** Finds the fewest steps that break the same rule. */
export async function findShortestDevices(
  seed: number,
): Promise<{ readonly plan: DevicePlan; readonly run: DeviceRun }> {
  let plan = createDevicePlan(seed);
  let run = await simulateDevices(plan);
  const kind = getKind(run);
  for (let size = plan.steps.length; size >= 1; size = size >> 1) {
    for (let start = 0; start < plan.steps.length; ) {
      const fewer = { ...plan, steps: [...plan.steps.slice(0, start), ...plan.steps.slice(start + size)] };
      const shorter = await simulateDevices(fewer);
      if (getKind(shorter) === kind) [plan, run] = [fewer, shorter];
      else start += size;
    }
  }
  return { plan, run };
}

/** Returns the rule that a run broke, without names and numbers. */
function getKind({ failure }: DeviceRun): string | undefined {
  return failure?.replace(/"(?:[^"\\]|\\.)*"|\d+/g, "…").slice(0, 60);
}
