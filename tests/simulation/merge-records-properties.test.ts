import { mergeRecords } from "@sluice/stores/extend";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readRuns } from "../support/seed.js";

const outcomes = ["complete", "stopped", "error", "truncated", "interrupted", "tool-calls"] as const;
const call = fc.record(
  {
    id: fc.constantFrom("a", "b"),
    name: fc.constant("tool"),
    arguments: fc.constant("{}"),
    input: fc.constant({}),
    state: fc.constantFrom("needs-approval", "running", "done", "cancelled"),
    output: fc.constantFrom("yes", "no"),
  },
  { requiredKeys: ["id", "name", "arguments", "input", "state"] },
);
/** A copy of one message on any device. */
const copy = fc
  .record({
    message: fc.record(
      {
        id: fc.constant("m"),
        role: fc.constant("assistant"),
        content: fc.constantFrom("", "An", "An answer", "On answer"),
        outcome: fc.constantFrom(...outcomes),
        streamId: fc.constantFrom("s1", "s2"),
        toolCalls: fc.uniqueArray(call, { selector: ({ id }) => id, maxLength: 2 }),
      },
      { requiredKeys: ["id", "role", "content"] },
    ),
    parent: fc.constant(null),
    revision: fc.nat({ max: 2 }),
    // a message of a runner, or of a page
    turn: fc.option(fc.constant("t"), { nil: undefined }),
  })
  .map(({ turn, message, ...record }) => ({
    ...record,
    message:
      message.outcome === "interrupted"
        ? { ...message, outcome: "truncated", error: { name: "StreamError", reason: "interrupted" } }
        : message,
    ...(turn && { turn }),
  }));

const join = (one: unknown, other: unknown) => mergeRecords("m", one, other);
/** Sorts the fields, because a merged record has its own order. */
const isSame = (record: unknown) => JSON.parse(JSON.stringify(record));

describe("Two copies of a response", () => {
  test("are joined to the same record in either order, and joining again changes nothing", () => {
    fc.assert(
      fc.property(copy, copy, (one, other) => {
        const joined = join(one, other);
        expect(isSame(join(other, one))).toEqual(isSame(joined));
        expect(isSame(join(joined, one))).toEqual(isSame(joined));
        expect(isSame(join(joined, joined))).toEqual(isSame(joined));
      }),
      readRuns(200),
    );
  });

  test("end as one on all devices, however many there are and in whatever order they meet", () => {
    fc.assert(
      fc.property(
        fc.array(copy, { minLength: 2, maxLength: 4 }),
        fc.infiniteStream(fc.nat()),
        (copies, draws) => {
          const met = copies.map((own) =>
            [...copies].sort(() => (draws.next().value % 2 === 0 ? 1 : -1)).reduce<unknown>(join, own),
          );
          const all = met.reduce(join);
          for (const one of met) expect(isSame(join(one, all))).toEqual(isSame(join(all, all)));
        },
      ),
      readRuns(100, 0.1),
    );
  });
});

describe("A copy that is older", () => {
  const record = (message: object, revision: number, more: object = {}) => ({
    message: { id: "m", role: "assistant", content: "An answer", ...message },
    parent: null,
    revision,
    ...more,
  });

  test("replaces no end, however much it was read on", () => {
    const ended = record({ outcome: "tool-calls" }, 3);
    expect(join(ended, record({ content: "An answer and more", streamId: "s" }, 40))).toBe(ended);
  });

  test("a copy that a server turn wrote wins over the copy of a page", () => {
    const runners = record({ content: "An" }, 2, { turn: "t" });
    expect(join(record({ outcome: "complete" }, 3), runners)).toBe(runners);
  });

  test("is what a retry reads on, as its end was not the end", () => {
    const again = record({ streamId: "s" }, 5);
    expect(join(record({ outcome: "truncated", streamId: "s" }, 4), again)).toBe(again);
  });
});

describe("A key that is no message", () => {
  test("keeps the fields of this device, else the fields of the others", () => {
    expect(mergeRecords("/leaf", "one", "other")).toBe("one");
    const message = { message: { id: "m", role: "user", content: "Hello" }, parent: null, revision: 0 };
    expect(join("damaged", message)).toBe(message);
  });
});
