import { expect, test } from "vitest";
import { formatBar } from "../src/command/bar.js";
import { addProgress } from "../src/command/terminal.js";

function createOutput(isTTY: boolean) {
  let text = "";
  const output = addProgress({ isTTY, write: (more) => (text += more) });
  return { output, text: () => text };
}

test("The bar fills from 0 to 100 %, and stays within its bounds", () => {
  expect(formatBar(0, "queued")).toBe("[------------------------]   0 %  queued");
  expect(formatBar(0.5, "running")).toBe("[############------------]  50 %  running");
  expect(formatBar(1.2, "running")).toContain("[########################]");
  expect(formatBar(undefined, "queued")).toBe("queued");
});

test("The bar shows the time, and shrinks in a narrow terminal", () => {
  const formatAt = (columns: number) => formatBar(0.5, "running", { seconds: 65, columns });
  expect(formatAt(200)).toBe("[############------------]  50 %  running  1:05");
  expect(formatAt(32)).toBe("[####----]  50 %  running  1:05");
  expect(formatAt(24)).toBe("50 %  running  1:05");
  expect(formatAt(12)).toBe("50 %  runni");
  expect(formatBar(undefined, "queued", { seconds: 3, columns: 32 })).toBe("queued  0:03");
});

test("A terminal replaces the line of progress, and prints other text below it", () => {
  const { output, text } = createOutput(true);
  output.replace("10 %");
  output.replace("20 %\u001b[2J");
  output.write("Done\n");
  expect(text()).toBe("\r\u001b[2K10 %\r\u001b[2K20 %[2J\nDone\n");
});

test("A file gets a line for each change of progress", () => {
  const { output, text } = createOutput(false);
  for (const line of ["10 %", "10 %", "20 %"]) output.replace(line);
  output.write("Done\n");
  expect(text()).toBe("10 %\n20 %\nDone\n");
});

test("A terminal breaks a sentence between its words", () => {
  let text = "";
  const output = addProgress({ isTTY: true, columns: 32, write: (more) => (text += more) });
  output.write("Nothing listens at 127.0.0.1:1. Check the address.\nNothing was billed.\n");
  expect(text).toBe("Nothing listens at 127.0.0.1:1.\nCheck the address.\nNothing was billed.\n");
});
