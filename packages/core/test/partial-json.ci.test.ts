import { test } from "vitest";
import { expectGrowth } from "./support/partial-json.js";

test.each([5, 6, 7, 8])(
  "random documents grow towards JSON.parse's value, by snapshots that never change (seed %i)",
  (seed) => expectGrowth(seed, 600),
);
