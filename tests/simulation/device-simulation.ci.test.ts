import { beforeAll, describe, expect, test } from "vitest";
import { loadDevices } from "./bundle.ts";
import { deviceScenarios } from "./device-scenarios.js";

let devices: Awaited<ReturnType<typeof loadDevices>>;
beforeAll(async () => {
  devices = await loadDevices();
});

test("no rule is broken in worlds of several devices", async () => {
  const { searchDevices, shortestDevices } = devices;
  const { failing } = await searchDevices(1, Number(process.env["SLUICE_RUNS"] ?? 30));
  const [first] = [...failing.values()].flat();
  if (first === undefined) return;
  const { plan, run } = await shortestDevices(first);
  expect.fail([JSON.stringify(plan), ...run.trace.filter((line) => !line.includes("s  · "))].join("\n"));
}, 600_000); // hundreds of worlds at night

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
