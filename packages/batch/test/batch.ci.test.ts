import { memoryStorage } from "@sluice/stores";
import { expect, test } from "vitest";
import { createReef, createReefs, openBatch, watchWrites } from "./support/batches.js";

test("a batch with 100,000 records is written as often for one more request as an empty one", async () => {
  const storage = memoryStorage();
  const known = createReefs(100_000);
  const small = watchWrites(memoryStorage());
  await openBatch(createReefs(1), { storage: small.storage }).run();
  const record = small.writes.at(-1)?.get("0") as object;
  await storage.write(
    "batches/reefs",
    new Map(
      known.map((_, at) => [
        `${at}`,
        {
          ...record,
          state: "failed",
          fingerprint: "",
          error: { name: "E", message: "", billing: "none" },
        },
      ]),
    ),
  );
  const large = watchWrites(storage);
  const { run, prompts } = openBatch([...known, createReef("one more")], { storage: large.storage });
  expect(await run()).toMatchObject({ status: "done", done: 1, failed: 100_000 });
  expect([prompts, large.writes.length, large.writes.every(({ size }) => size === 1)]).toEqual([
    ["one more"],
    small.writes.length,
    true,
  ]);
});
