import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileStorage } from "@sluice/stores/node";
import { expect, onTestFinished, test } from "vitest";

test("a write to 100,000 records appends only the bytes of its record", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-file-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "large.jsonl");
  const storage = fileStorage(path);
  await storage.write(
    "a",
    new Map(Array.from({ length: 100_000 }, (_, at) => [`${at}`, { at, text: "a".repeat(200) }])),
  );
  const before = await readFile(path);
  await storage.write("a", new Map([["new", 1]]));
  const after = await readFile(path);
  expect(after.length - before.length).toBeLessThan(100);
  expect(after.subarray(0, before.length).equals(before)).toBe(true);
  expect((await fileStorage(path).read("a")).size).toBe(100_001);
});
