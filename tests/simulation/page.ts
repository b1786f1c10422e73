import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "@sluice/core";
import type { Timeline } from "./timeline.js";

/**
 * A tab of a browser: its lifetime, clock and events. The app in it is a {@link Tab}. A server process is also a page,
 * one that is never visible.
 */
export interface Page {
  readonly id: number;
  readonly name: string;
  /** `frozen`: nothing runs, and events wait. `gone`: closed or crashed; nothing runs any more. */
  state: "open" | "frozen" | "gone";
  isHidden: boolean;
  isOnline: boolean;
  /** Error of the page's wall clock in milliseconds. */
  clockErrorMs: number;
  readonly window: EventTarget;
  readonly document: EventTarget & { readonly visibilityState: string };
  readonly clock: Clock;
  /** Timers that are set. */
  readonly timers: Set<object>;
  /** Runs code of the page. */
  run<T>(act: () => T): T;
  /** Runs code of the page for an event from outside: immediately, when the page is thawed, or never. */
  deliver(act: () => void): void;
  thaw(): void;
}

const current = new AsyncLocalStorage<Page | undefined>();

/** Returns the page of the running code; undefined in the code of servers and of the simulation. */
export function getCurrentPage(): Page | undefined {
  return current.getStore();
}

/** Runs code that belongs to no page. */
export function runOutside<T>(act: () => T): T {
  return current.run(undefined, act);
}

/** Opens a page. */
export function openPage(timeline: Timeline, id: number, name = `tab ${id}`): Page {
  const inbox: (() => void)[] = [];
  const page: Page = {
    id,
    name,
    state: "open",
    isHidden: false,
    isOnline: true,
    clockErrorMs: 0,
    window: createEventTarget(),
    document: Object.defineProperty(createEventTarget(), "visibilityState", {
      get: () => (page.isHidden ? "hidden" : "visible"),
    }) as Page["document"],
    clock: { now: timeline.now, sleep },
    timers: new Set(),
    run: (act) => current.run(page, act),
    deliver(act) {
      if (page.state === "frozen") inbox.push(act);
      else if (page.state === "open") page.run(act);
    },
    thaw() {
      if (page.state !== "frozen") return;
      page.state = "open";
      for (const act of inbox.splice(0)) page.run(act);
    },
  };
  return page;

  function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (ms === Number.POSITIVE_INFINITY) return;
      const timer = {};
      page.timers.add(timer);
      const wakePage = () => {
        page.timers.delete(timer);
        signal?.removeEventListener("abort", stop);
        resolve();
      };
      const cancel = timeline.after(ms, () => page.deliver(wakePage));
      const stop = () => {
        cancel();
        page.timers.delete(timer);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", stop);
    });
  }
}

/**
 * Makes an event target. Node's own may keep a listener whose signal has aborted, after a garbage collection, and calls
 * listeners with `capture` in their turn; a browser calls them first.
 */
function createEventTarget(): EventTarget {
  const target = new EventTarget();
  const first = new EventTarget();
  const add = target.addEventListener.bind(target);
  const dispatch = target.dispatchEvent.bind(target);
  target.addEventListener = (type, listener, options) => {
    const { signal, capture } = Object(options) as AddEventListenerOptions;
    if (capture) first.addEventListener(type, listener);
    else add(type, listener);
    signal?.addEventListener("abort", () => {
      first.removeEventListener(type, listener);
      target.removeEventListener(type, listener);
    });
  };
  target.dispatchEvent = (event) => {
    first.dispatchEvent(event);
    return dispatch(event);
  };
  return target;
}
