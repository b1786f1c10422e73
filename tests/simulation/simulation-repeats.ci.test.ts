import { expect, test } from "vitest";
import { loadSimulation } from "./bundle.ts";

test("a seed runs twice in the same way, also as the first one", async () => {
  const { createPlan, simulate } = await loadSimulation();
  const seeds = [1, 2, 12];
  const views = new Set(seeds.map((seed) => createPlan(seed).view));
  expect(views).toEqual(new Set(["stores", "hooks", "strict hooks"]));
  for (const seed of seeds) {
    const run = await simulate(createPlan(seed));
    expect(run.trace.length).toBeGreaterThan(10);
    expect(await simulate(createPlan(seed))).toEqual(run);
  }
});
