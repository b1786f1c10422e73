import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readFaultCases } from "@sluice/emulator/faults";
import * as v from "valibot";
import { expect, test } from "vitest";
import { formatFaultTable } from "../src/command/fault-table.js";
import type { FaultCase } from "./observe-fault.js";

const text = v.pipe(v.string(), v.nonEmpty());
const count = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000));
const milliseconds = v.pipe(v.number(), v.minValue(0));
const object = v.record(v.string(), v.unknown());

const contents = ["delta", "data", "text", "base64"];
const piece = v.pipe(
  v.strictObject({
    afterMs: v.exactOptional(milliseconds),
    times: v.exactOptional(count),
    delta: v.exactOptional(v.nullable(object)),
    finish_reason: v.exactOptional(v.unknown()),
    choice: v.exactOptional(object),
    chunk: v.exactOptional(object),
    data: v.exactOptional(v.unknown()),
    text: v.exactOptional(v.string()),
    base64: v.exactOptional(v.pipe(v.string(), v.base64())),
  }),
  v.check((fields) => contents.filter((name) => name in fields).length === 1, `one of ${contents.join()}`),
  v.check(
    (fields) => "delta" in fields || !["finish_reason", "choice", "chunk"].some((name) => name in fields),
    "needs a delta",
  ),
);
const response = v.pipe(
  v.strictObject({
    method: v.exactOptional(v.picklist(["GET", "POST"])),
    status: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(599))),
    headers: v.exactOptional(v.record(v.string(), v.string())),
    afterMs: v.exactOptional(milliseconds),
    body: v.exactOptional(v.unknown()),
    pieces: v.exactOptional(v.array(piece)),
    end: v.exactOptional(v.picklist(["finished", "cut", "stall"])),
  }),
  v.check((fields) => !("body" in fields && "pieces" in fields), "has body and pieces"),
  v.check(({ status, end = "finished" }) => status !== undefined || end !== "finished", "has no status"),
);
const outcome = v.strictObject({
  outcome: v.picklist([
    "complete",
    "tool-calls",
    "length",
    "content-filter",
    "insufficient-resource",
    "unconfirmed",
    "truncated",
    "error",
  ]),
  error: v.exactOptional(
    v.picklist([
      "refused",
      "server",
      "malformed",
      "truncated",
      "timeout",
      "connection",
      "wrong-address",
      "task-failed",
      "no-result",
    ]),
  ),
  billing: v.exactOptional(v.picklist(["none", "maybe"])),
  words: v.exactOptional(text),
  text: v.exactOptional(v.string()),
  reasoning: v.exactOptional(v.string()),
  toolCalls: v.exactOptional(v.array(v.strictObject({ name: v.string(), arguments: v.unknown() }))),
  totalTokens: v.exactOptional(v.number()),
  urls: v.exactOptional(v.array(v.nullable(v.string()))),
  lesser: v.exactOptional(v.boolean()),
});
const fault = v.strictObject({
  name: v.pipe(v.string(), v.regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/), v.maxLength(32)),
  title: text,
  operation: v.picklist(["stream-chat", "complete-chat", "generate-images", "watch-video"]),
  report: text,
  responses: v.pipe(v.array(response), v.nonEmpty()),
  maxRequests: count,
  right: v.pipe(v.array(outcome), v.nonEmpty()),
});
const file = v.strictObject({ group: text, faults: v.pipe(v.array(fault), v.nonEmpty()) });

const folder = join(import.meta.dirname, "../faults");

test.each(readdirSync(folder))("%s has only faults that the emulator can serve", (name) => {
  const { group, faults } = v.parse(file, JSON.parse(readFileSync(join(folder, name), "utf8")));
  const cases: FaultCase[] = faults.map((fault) => ({ ...fault, group }));
  expect(cases.filter(({ right: [first] }) => first?.lesser)).toEqual([]);
});

test("each fault has a unique name", () => {
  const names = readFaultCases().map(({ name }) => name);
  expect(names.length).toBeGreaterThan(160);
  expect(names.length).toBe(new Set(names).size);
});

test.each([80, 32])("the table of all faults fits a terminal of %i columns", (width) => {
  const faults = readFaultCases();
  const table = formatFaultTable(faults, width);
  expect(table.split("\n").filter((line) => line.length > width)).toEqual([]);
  for (const { name, group } of faults) {
    expect(table).toContain(name);
    expect(table).toContain(group);
  }
  const words = (whole: string) => whole.replace(/\s+/g, " ");
  expect(words(table)).toContain("Two calls with their own ids, both at index 0 → tool-calls");
  expect(words(table)).toContain("→ error (refused), billing none");
});
