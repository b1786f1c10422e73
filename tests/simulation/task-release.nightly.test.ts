import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Clock, createClient } from "@sluice/core";
import { createAssetStore, createVideoTaskStore, type VideoTaskStoreOptions } from "@sluice/stores";
import { expect, test } from "vitest";
import { settled } from "../../packages/core/test/support/gateway.js";

/** A client whose queries find a task that runs. */
function openTab(clock: Clock) {
  const client = createClient({
    baseURL: "https://gateway.test",
    clock,
    gateway: { assetLookup: async () => ({ Status: "Processing" }) },
    onEvent: () => {},
    fetch: async () => Response.json({ code: "success", data: { status: "IN_PROGRESS" } }),
  });
  return { client };
}

/** A clock on which everybody sleeps until all are woken together. */
function createWokenClock(): Clock & { wakeAll(): void } {
  const sleepers = new Set<() => void>();
  return {
    now: () => 0,
    sleep: (_ms, signal) =>
      new Promise((resolve, reject) => {
        sleepers.add(resolve);
        signal?.addEventListener("abort", () => {
          sleepers.delete(resolve);
          reject(signal.reason);
        });
      }),
    wakeAll() {
      const woken = [...sleepers];
      sleepers.clear();
      for (const wake of woken) wake();
    },
  };
}

test("10,000 tasks that were attached and left are released", {
  timeout: 180_000,
}, async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const clock = createWokenClock();
  const { client } = openTab(clock);
  let alive: WeakRef<object>[] = [];
  const heapAfter: number[] = [];
  for (let nth = 1; nth <= 10_000; nth += 1) {
    // a leaked store keeps its options alive, so watch the options
    const options: VideoTaskStoreOptions = { intervalMs: () => 1000 };
    alive.push(new WeakRef(options));
    const task =
      nth % 2 === 0 ? createVideoTaskStore(client, options) : createAssetStore(client, options as object);
    task.attach(`t-${nth}`);
    const stop = task.subscribe(() => {});
    await Promise.resolve();
    stop();
    if (nth % 1000 > 0) continue;
    clock.wakeAll();
    await settled();
    collect();
    await settled();
    collect();
    alive = alive.filter((options) => options.deref());
    heapAfter.push(process.memoryUsage().heapUsed);
  }
  expect(alive.length).toBeLessThan(5);
  const [first = 0] = heapAfter;
  // less than 0.5 kB for each of the 9,000 that followed
  expect((heapAfter.at(-1) ?? 0) - first).toBeLessThan(4.5e6);
});
