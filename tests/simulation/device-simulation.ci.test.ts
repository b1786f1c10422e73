import { beforeAll, describe, expect, test } from "vitest";
import { loadDevices } from "./bundle.ts";
import { deviceScenarios } from "./device-scenarios.js";

let devices: Awaited<ReturnType<typeof loadDevices>>;
beforeAll(async () => {
  devices = await loadDevices();
});

test("no rule is broken in simulations of several devices", async () => {
  const { searchDevices, findShortestDevices } = devices;
  const { failing } = await searchDevices(1, Number(process.env["SLUICE_RUNS"] ?? 30));
  const [first] = [...failing.values()].flat();
  if (first === undefined) return;
  const { plan, run } = await findShortestDevices(first);
  expect.fail([JSON.stringify(plan), ...run.trace.filter((line) => !line.includes("s  · "))].join("\n"));
}, 600_000); // hundreds of simulations at night

test("a simulation of devices runs twice in the same way", async () => {
  const { createDevicePlan, simulateDevices } = await loadDevices();
  const seeds = [5, 6, 7, 12];
  expect(new Set(seeds.map((seed) => createDevicePlan(seed).storage))).toEqual(new Set(["model", "real"]));
  for (const seed of seeds) {
    const run = await simulateDevices(createDevicePlan(seed));
    expect(run.trace.length).toBeGreaterThan(10);
    expect(await simulateDevices(createDevicePlan(seed))).toEqual(run);
  }
});

describe("bugs that the simulations of devices found stay fixed:", () => {
  test.each(deviceScenarios)("$name", async ({ plan }) => {
    expect((await devices.simulateDevices(plan)).failure).toBeUndefined();
  });
});
