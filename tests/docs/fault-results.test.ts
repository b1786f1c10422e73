import { expect, test } from "vitest";
import { fillGuide, readGuide } from "../clients/faults/guide.ts";
import { readChatFaults, readResults } from "../clients/faults/results.ts";

const results = readResults();
const faults = readChatFaults();

test("the comparison has the results of the last run", () => {
  const guide = readGuide();
  expect(guide, "node tests/clients/faults/table.ts").toBe(fillGuide(guide, results, faults));
});

test("the last run was with all faults of chats, and with Sluice in each", () => {
  const names = faults.map(({ name }) => name);
  expect(Object.keys(results.verdicts), "node tests/clients/faults/table.ts --run").toEqual(names);
  for (const name of names) expect(results.verdicts[name], name).toHaveProperty("Sluice");
});

test("the comparison shows where another client does better than Sluice", () => {
  const [fault] = faults.filter(({ name }) => name === "crlf-lines");
  if (!fault) throw new Error("the fault is gone");
  const better = (ours: "right" | "acceptable" | "wrong", theirs: "right" | "hangs") =>
    fillGuide(
      "# Faults\n\n### Results\n\nold\n",
      {
        versions: { Sluice: "", openai: "openai 7" },
        verdicts: { "crlf-lines": { Sluice: ours, openai: theirs } },
      },
      [fault],
    );
  expect(better("acceptable", "right")).toContain("- `crlf-lines`, Lines end with CR LF: openai.");
  expect(better("wrong", "right")).toContain("- `crlf-lines`, Lines end with CR LF: openai.");
  expect(better("right", "right")).toContain("in no case.");
  expect(better("wrong", "hangs")).toContain("in no case.");
  expect(better("right", "hangs")).not.toContain("old");
  expect(better("right", "hangs")).toMatch(/^\| openai +\| openai 7 +\| 0 +\| 0 +\| 0 +\| 0 +\| 1 /m);
});
