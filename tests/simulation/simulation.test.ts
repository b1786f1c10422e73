import { beforeAll, describe, expect, test } from "vitest";
import { loadSimulation } from "./bundle.ts";
import { scenarios } from "./scenarios.js";

let simulation: Awaited<ReturnType<typeof loadSimulation>>;
beforeAll(async () => {
  simulation = await loadSimulation();
});

test("no rule is broken in simulations with faults at any step", async () => {
  const { search, findShortest, report } = simulation;
  const { failing } = await search(1, Number(process.env["SLUICE_RUNS"] ?? 20));
  const [first] = [...failing.values()].flat();
  if (first !== undefined) expect.fail(report(await findShortest(first)));
}, 600_000); // hundreds of simulations at night

describe("bugs that the simulation found stay fixed:", () => {
  test.each(scenarios)("$name", async ({ plan }) => {
    expect((await simulation.simulate(plan)).failure).toBeUndefined();
  });
});
