import { memoryStorage } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import {
  createMapStorage,
  records,
  testContract,
  testWebStorage,
  UNREACHABLE_CASES,
  watchAll,
} from "../support/storages.js";

testContract("memoryStorage", () => {
  const storage = memoryStorage();
  return { create: () => storage };
}, ["damaged record", "broadcasts records", ...UNREACHABLE_CASES]);
testWebStorage(createMapStorage());

describe("memoryStorage", () => {
  test("also reports its own writes, and nothing after the watch has ended", async () => {
    const storage = memoryStorage();
    const { next } = watchAll(storage, "chat");
    await storage.write("chat", records({ a: 1 }));
    expect(await next()).toEqual([["a", 1]]);
    const late: unknown[] = [];
    const stop = storage.subscribe("chat", (changes) => late.push(changes));
    const written = storage.write("chat", records({ a: 2 }));
    stop();
    await written;
    expect(late).toEqual([]);
  });

  test("allows a listener to write, and keeps the records of each storage apart", async () => {
    const storage = memoryStorage();
    const stop = storage.subscribe("chat", (changes) => {
      if (changes.has("a")) void storage.write("chat", records({ b: 1 }));
    });
    const { next } = watchAll(storage, "chat");
    await storage.write("chat", records({ a: 1 }));
    expect([await next(), await next()]).toEqual([[["a", 1]], [["b", 1]]]);
    expect((await memoryStorage().read("chat")).size).toBe(0);
    stop();
  });
});
