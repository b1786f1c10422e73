import { beforeAll, describe, expect, test } from "vitest";
import { loadSimulation } from "./bundle.ts";
import { scenarios } from "./scenarios.js";

let simulation: Awaited<ReturnType<typeof loadSimulation>>;
beforeAll(async () => {
  simulation = await loadSimulation();
});

test("no rule is broken in worlds with faults at any step", async () => {
  const { search, shortest, report } = simulation;
  const { failing } = await search(1, Number(process.env["SLUICE_RUNS"] ?? 20));
  const [first] = [...failing.values()].flat();
  if (first !== undefined) expect.fail(report(await shortest(first)));
}, 600_000); // hundreds of worlds at night

describe("what the simulation has found does not come back:", () => {
  test.each(scenarios)("$name", async ({ plan }) => {
    expect((await simulation.simulate(plan)).failure).toBeUndefined();
  });
});
