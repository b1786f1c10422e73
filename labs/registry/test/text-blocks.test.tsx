import { expect, test } from "vitest";
import { createTextBlocks } from "@/components/sluice/text-blocks";

const textBlocks = (text: string) => createTextBlocks()(text);
const lines = Array.from({ length: 400 }, (_, at) => `${at} ${"words ".repeat(at % 40)}\n`);
const text = lines.join("");

test("the blocks of a text, joined, are the text", () => {
  expect(textBlocks(text).length).toBeGreaterThan(5);
  expect(textBlocks(text).join("")).toBe(text);
  expect(textBlocks("")).toEqual([]);
  expect(textBlocks("short\n")).toEqual(["short\n"]);
});

test("every block but the last ends with a line, and is long", () => {
  for (const block of textBlocks(text).slice(0, -1)) {
    expect(block.endsWith("\n")).toBe(true);
    expect(block.length).toBeGreaterThan(4096);
    expect(block.length).toBeLessThan(5000);
  }
});

test("A block ends with the first line end behind 4096 characters", () => {
  const [long, short] = [`${"a".repeat(4096)}\n`, `${"a".repeat(4095)}\n`];
  expect(textBlocks(`${long}b`)).toEqual([long, "b"]);
  expect(textBlocks(`${short}b`)).toEqual([`${short}b`]);
});

test("Only the last block of a growing text changes", () => {
  const blocksOf = createTextBlocks();
  let before = blocksOf("");
  for (let length = 0; length <= text.length; length += 97) {
    const now = blocksOf(text.slice(0, length));
    expect(now.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
    expect(now[Math.max(before.length - 1, 0)] ?? "").satisfy((block: string) =>
      block.startsWith(before.at(-1) ?? ""),
    );
    before = now;
  }
});

test("a text that is another one than before has its own blocks", () => {
  const blocksOf = createTextBlocks();
  const other = text.replace("words", "other");
  blocksOf(text);
  expect(blocksOf(other).join("")).toBe(other);
  expect(blocksOf("short\n")).toEqual(["short\n"]);
});

test("a line without an end stays in one block", () => {
  expect(textBlocks("a".repeat(20_000))).toHaveLength(1);
});
