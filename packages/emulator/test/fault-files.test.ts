import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseFaultCases, readFaultCases } from "@sluice/emulator/faults";
import { describe, expect, onTestFinished, test } from "vitest";
import { formatFaultTable } from "../src/command/fault-table.js";

const fault = {
  name: "maintenance",
  title: "The gateway is closed",
  operation: "stream-chat",
  report: "our status page",
  responses: [{ status: 503, body: { error: { message: "closed" } } }],
  maxRequests: 3,
  right: [{ outcome: "error", error: "server", words: "closed" }],
};
const toSource = (...faults: object[]) => JSON.stringify({ group: "Ours", faults });

/** Returns the message of a source that is refused. */
function refuse(source: string): string {
  try {
    parseFaultCases(source);
  } catch (error) {
    return (error as TypeError).message;
  }
  throw new Error("the source was accepted");
}

test("a file of faults becomes faults with its group", () => {
  expect(parseFaultCases(toSource(fault))).toEqual([{ ...fault, group: "Ours" }]);
});

describe("a wrong file is refused with the fault and the field:", () => {
  test.each([
    ["text that is no JSON", "{", /^it is not JSON: /],
    ["JSON of another shape", "7", /^the file must be a file of faults$/],
    ["no group", JSON.stringify({ faults: [] }), /^group is missing$/],
    [
      "a field that does not exist",
      toSource({ ...fault, titel: "x" }),
      /^maintenance: titel is not a field of a fault/,
    ],
    ["no title", toSource({ ...fault, title: undefined }), /^maintenance: title is missing$/],
    [
      "a name with blanks",
      toSource({ ...fault, name: "Not a name" }),
      /^Not a name: name must be lower-case words/,
    ],
    ["a long name", toSource({ ...fault, name: "a".repeat(33) }), /must have at most 32 characters$/],
    [
      "an unknown operation",
      toSource({ ...fault, operation: "chat" }),
      /^maintenance: operation must be one of stream-/,
    ],
    ["no responses", toSource({ ...fault, responses: [] }), /^maintenance: responses must not be empty$/],
    [
      "a status of 700",
      toSource({ ...fault, responses: [{ status: 700 }] }),
      /responses\.0\.status must be a whole/,
    ],
    [
      "a response without a status",
      toSource({ ...fault, responses: [{}] }),
      /responses\.0 must have a status, or the/,
    ],
    [
      "a response with two bodies",
      toSource({ ...fault, responses: [{ status: 200, body: 1, pieces: [] }] }),
      /responses\.0 must have body or pieces, not both/,
    ],
    [
      "a piece with two contents",
      toSource({ ...fault, responses: [{ status: 200, pieces: [{ text: "a", data: 1 }] }] }),
      /pieces\.0 must have exactly one of delta, data, text, base64/,
    ],
    [
      "a finish_reason without a delta",
      toSource({ ...fault, responses: [{ status: 200, pieces: [{ text: "a", finish_reason: "stop" }] }] }),
      /pieces\.0 needs a delta/,
    ],
    [
      "a piece that is sent too often",
      toSource({ ...fault, responses: [{ status: 200, pieces: [{ text: "a", times: 1001 }] }] }),
      /times must be a whole number from 1 to 1000/,
    ],
    [
      "an unknown outcome",
      toSource({ ...fault, right: [{ outcome: "fine" }] }),
      /right\.0\.outcome must be one of complete/,
    ],
    ["one name twice", toSource(fault, fault), /^two faults have the name maintenance$/],
  ])("%s", (_, source, message) => expect(refuse(source)).toMatch(message));
});

test("a folder's wrong file is named", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-faults-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "a.json"), toSource(fault));
  expect(readFaultCases(folder)).toHaveLength(1);
  writeFileSync(join(folder, "b.json"), toSource({ ...fault, name: "other", report: "" }));
  expect(() => readFaultCases(folder)).toThrow(
    `${join(folder, "b.json")} has a wrong fault:\nother: report must not be`,
  );
  writeFileSync(join(folder, "b.json"), toSource(fault));
  expect(() => readFaultCases(folder)).toThrow("two faults have the name maintenance");
});

test.each([80, 32])("the table of all faults fits a terminal of %i columns", (width) => {
  const faults = readFaultCases();
  const table = formatFaultTable(faults, width);
  expect(table.split("\n").filter((line) => line.length > width)).toEqual([]);
  for (const { name, group } of faults) {
    expect(table).toContain(name);
    expect(table).toContain(group);
  }
  const words = (text: string) => text.replace(/\s+/g, " ");
  expect(words(table)).toContain("Two calls with their own ids, both at index 0 → tool-calls");
  expect(words(table)).toContain("→ error (refused), billing none");
});
