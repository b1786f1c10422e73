import { expect, test } from "vitest";
import { bar } from "../src/command/bar.js";
import { withProgress } from "../src/command/terminal.js";

function outputOf(isTTY: boolean) {
  let text = "";
  const output = withProgress({ isTTY, write: (more) => (text += more) });
  return { output, text: () => text };
}

test("The bar fills from 0 to 100 %, and stays within its ends", () => {
  expect(bar(0, "queued")).toBe("[------------------------]   0 %  queued");
  expect(bar(0.5, "running")).toBe("[############------------]  50 %  running");
  expect(bar(1.2, "running")).toContain("[########################]");
  expect(bar(undefined, "queued")).toBe("queued");
});

test("The bar has the time, and gives way in a narrow terminal", () => {
  const at = (columns: number) => bar(0.5, "running", { seconds: 65, columns });
  expect(at(200)).toBe("[############------------]  50 %  running  1:05");
  expect(at(32)).toBe("[####----]  50 %  running  1:05");
  expect(at(24)).toBe("50 %  running  1:05");
  expect(at(12)).toBe("50 %  runni");
  expect(bar(undefined, "queued", { seconds: 3, columns: 32 })).toBe("queued  0:03");
});

test("A line of progress changes in its place on a terminal, and other words stand below it", () => {
  const { output, text } = outputOf(true);
  output.replace("10 %");
  output.replace("20 %\u001b[2J");
  output.write("Done\n");
  expect(text()).toBe("\r\u001b[2K10 %\r\u001b[2K20 %[2J\nDone\n");
});

test("Progress is a line for each change where it goes to a file", () => {
  const { output, text } = outputOf(false);
  for (const line of ["10 %", "10 %", "20 %"]) output.replace(line);
  output.write("Done\n");
  expect(text()).toBe("10 %\n20 %\nDone\n");
});
