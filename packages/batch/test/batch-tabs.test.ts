import type { RecordStorage } from "@sluice/core";
import { memoryStorage } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { settled, shows, waitUntil } from "../../core/test/support/gateway.js";
import { createImageResponse, createReefs, createRefusal, openBatch } from "./support/batches.js";

const withoutLock = ({ lock: _, ...storage }: RecordStorage): RecordStorage => storage;

/** Opens two tabs with the same batch. Each request to the gateway waits until the test calls its function in `pending`. */
function openTwoTabs(storage: RecordStorage, count = 3) {
  const pending: (() => void)[] = [];
  const respond = (prompt: string) =>
    new Promise<Response>((resolve) =>
      pending.push(() => resolve(prompt === "reef 0" ? createRefusal(400) : createImageResponse(prompt))),
    );
  const openTab = () => openBatch(createReefs(count), { storage, respond, concurrency: 1 });
  return { pending, one: openTab(), other: openTab() };
}

/** Responds to one request after the other until `ended` has settled. */
async function respondUntil<T>(pending: (() => void)[], ended: Promise<T>): Promise<T> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  ended.then(end, end);
  await waitUntil(
    () => isOver,
    () => {
      pending.shift()?.();
      return settled();
    },
  );
  return ended;
}

describe.each([
  ["the lock of a storage", () => memoryStorage()],
  ["a Web Lock", () => withoutLock(memoryStorage())],
] as const)("two tabs with %s", (_, storage) => {
  test("run a batch one at a time, and both show it", async () => {
    const { pending, one, other } = openTwoTabs(storage());
    const first = one.batch.run();
    await expect.poll(() => pending.length).toBe(1);
    const second = other.batch.run();
    await shows(other.batch, ({ status }) => status === "locked");
    await other.clock.advanceUntil(
      shows(other.batch, ({ running, waiting }) => running === 1 && waiting === 2),
      50,
    );
    expect(await respondUntil(pending, one.clock.advanceUntil(first, 50))).toMatchObject({
      status: "done",
      done: 2,
    });
    expect(await other.clock.advanceUntil(second, 500)).toMatchObject({
      status: "done",
      done: 2,
      failed: 1,
    });
    expect([one.prompts.length, other.prompts.length]).toEqual([3, 0]);
  });

  test("hand the batch over when one of them stops", async () => {
    const { pending, one, other } = openTwoTabs(storage());
    const first = one.batch.run();
    await expect.poll(() => pending.length).toBe(1);
    const second = other.batch.run();
    await shows(other.batch, ({ status }) => status === "locked");
    one.batch.stop();
    pending.shift()?.();
    expect(await one.clock.advanceUntil(first, 50)).toMatchObject({ status: "stopped", waiting: 2 });
    const state = await respondUntil(pending, other.clock.advanceUntil(second, 500));
    expect(state).toMatchObject({ status: "done", done: 2, failed: 1 });
    expect([one.prompts, other.prompts]).toEqual([["reef 0"], ["reef 1", "reef 2"]]);
  });
});

test("a retry in a tab that only shows the batch is sent by the tab that runs it", async () => {
  const storage = memoryStorage();
  const { pending, one, other } = openTwoTabs(storage);
  other.batch.subscribe(() => {});
  const first = one.batch.run();
  await expect.poll(() => pending.length).toBe(1);
  pending.shift()?.();
  await other.clock.advanceUntil(
    shows(other.batch, ({ failed }) => failed === 1),
    50,
  );
  await other.batch.retry("0");
  await respondUntil(pending, one.clock.advanceUntil(first, 50));
  expect([one.prompts.filter((prompt) => prompt === "reef 0").length, other.prompts.length]).toEqual([2, 0]);
});

test("stop ends the wait for another tab", async () => {
  const { pending, one, other } = openTwoTabs(memoryStorage());
  void one.batch.run();
  await expect.poll(() => pending.length).toBe(1);
  const second = other.batch.run();
  await shows(other.batch, ({ status }) => status === "locked");
  other.batch.stop();
  expect(await other.clock.advanceUntil(second, 500)).toMatchObject({ status: "stopped" });
  expect(other.prompts).toEqual([]);
});
