import { expect, test } from "vitest";
import { expectLog } from "../../../../packages/worker-proxy/test/support/expected-log.js";
import { findBug, knownBugs } from "../histories/known-bugs.js";
import { playHistories } from "../histories/play.js";

expectLog("it is closed", "the code of the operator is broken", "its lease could not be renewed");

test("2,000 further histories of two users on three browsers end with nothing lost, mixed up, different or run twice", async () => {
  expect(
    await playHistories({ first: Number(process.env["SLUICE_SEED"] ?? 1) * 10_000, count: 2_000 }),
  ).toEqual([]);
}, 3_600_000);

test.each(knownBugs)(
  "The histories find the known bug: $name",
  async (bug) => {
    expect(await findBug(bug, 1, 500)).toMatch(bug.sign);
  },
  600_000,
);
