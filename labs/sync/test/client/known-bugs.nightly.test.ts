import { expect, test } from "vitest";
import { findBug, knownBugs } from "../histories/known-bugs.js";

test.each(knownBugs)(
  "Histories find it if $name",
  async (bug) => {
    expect(await findBug(bug, 1, 500)).toMatch(bug.sign);
  },
  600_000,
);
