import { expect, test } from "vitest";
import { loadSimulation } from "./bundle.ts";

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
