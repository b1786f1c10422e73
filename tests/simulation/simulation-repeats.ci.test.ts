import { expect, test } from "vitest";
import { loadSimulation } from "./bundle.ts";

test("two simulations with one seed are equal, even if one of them is the first run of its process", async () => {
  const { createPlan, simulate } = await loadSimulation();
  // one seed for each view
  const seeds = [1, 2, 12];
  const views = new Set(seeds.map((seed) => createPlan(seed).view));
  expect(views).toEqual(new Set(["stores", "hooks", "strict hooks"]));
  for (const seed of seeds) {
    const run = await simulate(createPlan(seed));
    expect(run.trace.length).toBeGreaterThan(10);
    expect(await simulate(createPlan(seed))).toEqual(run);
  }
});
