import { getCurrentPage, type Page } from "./page.js";
import { pickBetween, type Random } from "./random.js";
import type { Timeline } from "./timeline.js";

/** Behavior of a browser's locks: `silent` never responds. */
export type LockMode = "sound" | "absent" | "refused" | "silent";

interface Request {
  readonly page: Page;
  readonly mode: string;
  isGranted: boolean;
  readonly grant: () => void;
}

/** Creates the Web Locks of one browser. A closed tab releases its locks. */
export function createLocks(
  timeline: Timeline,
  random: Random,
  mode: LockMode,
  log: (detail: string) => void,
) {
  const queues = new Map<string, Request[]>();
  const rejectRefused = () => Promise.reject(new DOMException("access is denied", "SecurityError"));
  const waitForever = () => new Promise<never>(() => {});

  return {
    mode,
    /** Makes the `navigator.locks` of a page. */
    createManager(): object | undefined {
      if (mode === "absent") return undefined;
      if (mode === "refused") return { request: rejectRefused, query: rejectRefused };
      if (mode === "silent") return { request: waitForever, query: waitForever };
      return { request, query };
    },
    /** Names of the locks that a page holds or waits for. */
    listNames: (page: Page) =>
      [...queues].flatMap(([name, queue]) => (queue.some((each) => each.page === page) ? [name] : [])),
    /** Releases the locks of a closed page. */
    drop(page: Page): void {
      for (const [name, queue] of queues) {
        queue.splice(0, queue.length, ...queue.filter((each) => each.page !== page));
        grantLocks(name);
      }
    },
  };

  function request(
    name: string,
    { mode = "exclusive", signal }: { mode?: string; signal?: AbortSignal },
    act: () => Promise<unknown>,
  ): Promise<unknown> {
    const page = getCurrentPage() as Page;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      // the request of a closed page is never granted
      if (page.state === "gone") return;
      const queue = queues.get(name) ?? [];
      queues.set(name, queue);
      const dequeue = () => {
        if (!queue.includes(entry)) return;
        if (entry.isGranted) log(`lock ${name} released by tab ${page.id}`);
        queue.splice(queue.indexOf(entry), 1);
        grantLocks(name);
      };
      const run = () => {
        if (signal?.aborted) return dequeue();
        (async () => act())().then(resolve, reject).finally(dequeue);
      };
      const entry: Request = { page, mode, isGranted: false, grant: () => page.deliver(run) };
      signal?.addEventListener("abort", () => {
        if (entry.isGranted) return;
        dequeue();
        reject(signal.reason);
      });
      queue.push(entry);
      grantLocks(name);
    });
  }

  function query(): Promise<object> {
    const page = getCurrentPage() as Page;
    return new Promise((resolve) => {
      timeline.after(pickBetween(random, 0, 3), () => {
        const held = [...queues].flatMap(([name, queue]) =>
          queue.some(({ isGranted }) => isGranted) ? [{ name }] : [],
        );
        page.deliver(() => resolve({ held, pending: [] }));
      });
    });
  }

  /** Grants the first request of a queue, and the shared requests directly after a shared request, a moment later. */
  function grantLocks(name: string): void {
    timeline.after(pickBetween(random, 0, 3), () => {
      const queue = queues.get(name) ?? [];
      const exclusive = queue.findIndex(({ mode }) => mode === "exclusive");
      const count = exclusive === 0 ? 1 : exclusive === -1 ? queue.length : exclusive;
      for (const entry of queue.slice(0, count)) {
        if (entry.isGranted) continue;
        entry.isGranted = true;
        log(`lock ${name} for tab ${entry.page.id}`);
        entry.grant();
      }
    });
  }
}
