import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { loadDevices, loadSimulation } from "./bundle.ts";
import { deviceScenarios } from "./device-scenarios.js";
import { knownBugs } from "./known-bugs.js";
import { knownDeviceBugs } from "./known-device-bugs.js";
import { knownUploadBugs } from "./known-upload-bugs.js";
import { scenarios } from "./scenarios.js";

let simulation: Awaited<ReturnType<typeof loadSimulation>>;
let devices: Awaited<ReturnType<typeof loadDevices>>;
beforeAll(async () => {
  simulation = await loadSimulation();
  devices = await loadDevices();
});

test("no rule is broken in worlds with faults at any step", async () => {
  const { search, shortest, report } = simulation;
  const { failing } = await search(1, Number(process.env["SLUICE_RUNS"] ?? 200));
  const [first] = [...failing.values()].flat();
  if (first !== undefined) expect.fail(report(await shortest(first)));
}, 600_000);

test("no rule is broken in worlds of several devices", async () => {
  const { searchDevices, shortestDevices } = devices;
  const { failing } = await searchDevices(1, Number(process.env["SLUICE_RUNS"] ?? 100));
  const [first] = [...failing.values()].flat();
  if (first === undefined) return;
  const { plan, run } = await shortestDevices(first);
  expect.fail([JSON.stringify(plan), ...run.trace.filter((line) => !line.includes("s  · "))].join("\n"));
}, 600_000);

test("a world of devices runs twice in the same way", async () => {
  const { devicePlanOf, simulateDevices } = await loadDevices();
  const seeds = [5, 6, 7, 12];
  expect(new Set(seeds.map((seed) => devicePlanOf(seed).storage))).toEqual(new Set(["model", "real"]));
  for (const seed of seeds) {
    const run = await simulateDevices(devicePlanOf(seed));
    expect(run.trace.length).toBeGreaterThan(10);
    expect(await simulateDevices(devicePlanOf(seed))).toEqual(run);
  }
});

describe("what the worlds of devices have found does not come back:", () => {
  test.each(deviceScenarios)("$name", async ({ plan }) => {
    expect((await devices.simulateDevices(plan)).failure).toBeUndefined();
  });
});

test("a seed runs twice in the same way, also as the first one", async () => {
  const { planOf, simulate } = await loadSimulation();
  const seeds = [1, 2, 12];
  const views = new Set(seeds.map((seed) => planOf(seed).view));
  expect(views).toEqual(new Set(["stores", "hooks", "strict hooks"]));
  for (const seed of seeds) {
    const run = await simulate(planOf(seed));
    expect(run.trace.length).toBeGreaterThan(10);
    expect(await simulate(planOf(seed))).toEqual(run);
  }
});

describe("what the simulation has found does not come back:", () => {
  test.each(scenarios)("$name", async ({ plan }) => {
    expect((await simulation.simulate(plan)).failure).toBeUndefined();
  });
});

test.each([...knownBugs, ...knownUploadBugs, ...knownDeviceBugs])(
  "it can be put back that $name",
  ({ changes }) => {
    for (const { file, find } of changes) {
      const source = readFileSync(join(import.meta.dirname, "../..", file), "utf8");
      expect(source.split(find), `${file}: ${find}`).toHaveLength(2);
    }
  },
);
