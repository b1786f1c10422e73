import { createClient } from "@sluice/core";
import { createVideoTaskStore } from "@sluice/stores";

/** Counts of a page that has watched tasks for a while. */
export interface Polled {
  /** Timers that were set and had neither fired nor been cleared, at most. */
  readonly timers: number;
  readonly heldMB: number;
  readonly longestTaskMs: number;
}

declare const performance: Performance & { readonly memory: { readonly usedJSHeapSize: number } };
declare const gc: () => void;

const open = new Set<number>();
let mostOpen = 0;
const { setTimeout: set, clearTimeout: clear } = window;
Object.assign(window, {
  setTimeout(act: () => void, ms?: number) {
    const timer = set(() => {
      open.delete(timer);
      act();
    }, ms);
    open.add(timer);
    mostOpen = Math.max(mostOpen, open.size);
    return timer;
  },
  clearTimeout(timer: number) {
    open.delete(timer);
    clear(timer);
  },
});

/** Watches `tasks` tasks for `seconds`. Each task has its own store with one subscriber. */
async function run(tasks: number, seconds: number): Promise<Polled> {
  let longestTaskMs = 0;
  new PerformanceObserver((entries) => {
    for (const { duration } of entries.getEntries()) longestTaskMs = Math.max(longestTaskMs, duration);
  }).observe({ type: "longtask" });
  const client = createClient({ baseURL: location.origin });
  const before = heldMB();
  for (let nth = 0; nth < tasks; nth += 1) {
    const store = createVideoTaskStore(client);
    store.subscribe(() => {});
    store.attach(`task-${nth}`);
  }
  await new Promise((resolve) => set(resolve, seconds * 1000));
  return { timers: mostOpen, heldMB: heldMB() - before, longestTaskMs };
}

function heldMB(): number {
  gc();
  return performance.memory.usedJSHeapSize / 2 ** 20;
}

Object.assign(window, { run });
