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

// a proxy that refuses every request breaks no rule
test.each(["metered", "stored"] as const)("requests reach the gateway through a %s proxy", async (proxy) => {
  const scenario = scenarios.find(({ plan }) => plan.proxy === proxy && plan.view === "stores");
  if (!scenario) throw new Error(`no scenario has a ${proxy} proxy`);
  const steps = [{ afterMs: 0, do: "send", tab: 0, nth: 0 }] as const;
  const { trace } = await simulation.simulate({ ...scenario.plan, budget: 1_000_000, steps });
  expect(trace).toContainEqual(
    expect.stringMatching(/network, (?:proxy |user:)\S*, POST \/v1\/chat\/completions: 200/),
  );
});

describe("a bug that the simulation found stays fixed", () => {
  test.each(scenarios)("$name", async ({ plan }) => {
    expect((await simulation.simulate(plan)).failure).toBeUndefined();
  });
});
