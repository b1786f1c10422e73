import { expect, test } from "vitest";
import { simulateUploads } from "./upload-simulation.js";

/** A tenth of the simulations of the other simulation: each one sends megabytes. */
const runs = Math.ceil(Number(process.env["SLUICE_RUNS"] ?? 50) / 10);

test("An upload sends a limited number of bytes, stores a file once, and continues after reloads, in simulations with faults", async () => {
  for (let seed = 1; seed <= runs; seed += 1) {
    const { failure, trace } = await simulateUploads(seed);
    if (failure !== undefined) expect.fail([`seed ${seed}: ${failure}`, ...trace].join("\n"));
  }
}, 600_000);

test("A seed runs twice in the same way", async () => {
  for (const seed of [1, 2]) expect(await simulateUploads(seed)).toEqual(await simulateUploads(seed));
}, 180_000);
