import { createHash, createHmac } from "node:crypto";
import { getCurrentPage, type Page, runOutside } from "./page.js";
import type { Random } from "./random.js";
import type { Timeline } from "./timeline.js";

/** Unix milliseconds at the beginning of every simulation. */
export const BEGINNING = Date.UTC(2026, 0, 1);

/** Parts of the simulation that the globals of a platform lead to. */
interface PlatformParts {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly getLocks: (page: Page) => object | undefined;
  readonly openChannel: (name: string) => object;
  /** Receives console errors. */
  readonly logError: (line: string) => void;
}

/**
 * Replaces the globals that would reveal the real process: time, random numbers, and what differs between the tabs of
 * one process. Returns a function that restores them.
 */
export function installPlatform(parts: PlatformParts): () => void {
  const { timeline, random, getLocks, openChannel, logError } = parts;
  const own = new Map<string, PropertyDescriptor | undefined>();
  const navigators = new WeakMap<Page, object>();
  const before = {
    crypto: globalThis.crypto,
    navigator: globalThis.navigator,
    now: Date.now,
    random: Math.random,
  };

  replace("navigator", { get: () => createNavigator(getCurrentPage()) });
  replace("document", { get: () => getCurrentPage()?.document });
  replace("addEventListener", { get: () => createListen(getCurrentPage()) });
  replace("BroadcastChannel", {
    value: function Channel(name: string) {
      return openChannel(name);
    },
  });
  replace("MessageChannel", { value: Ports });
  // the clock of a client that was given none
  replace("performance", { value: { now: timeline.now } });
  replace("console", { value: { ...console, error: logError } });
  replace("setTimeout", { value: createTimer(false) });
  replace("setInterval", { value: createTimer(true) });
  for (const name of ["clearTimeout", "clearInterval"])
    replace(name, { value: (cancel?: () => void) => cancel?.() });
  replace("crypto", { value: { getRandomValues, randomUUID, subtle: { digest, importKey, sign } } });
  Date.now = () => Math.floor(BEGINNING + timeline.now() + (getCurrentPage()?.clockErrorMs ?? 0));
  Math.random = random;

  return () => {
    for (const [name, descriptor] of own) {
      if (descriptor) Object.defineProperty(globalThis, name, descriptor);
      else Reflect.deleteProperty(globalThis, name);
    }
    Date.now = before.now;
    Math.random = before.random;
  };

  function replace(name: string, descriptor: PropertyDescriptor): void {
    own.set(name, Object.getOwnPropertyDescriptor(globalThis, name));
    Object.defineProperty(globalThis, name, { configurable: true, ...descriptor });
  }

  function createNavigator(page: Page | undefined): object {
    if (!page) return before.navigator;
    const known = navigators.get(page);
    if (known) return known;
    // one lock manager for each page, as in a browser
    const locks = getLocks(page);
    const navigator = Object.defineProperty({ locks, userAgent: "simulated" }, "onLine", {
      get: () => page.isOnline,
    });
    navigators.set(page, navigator);
    return navigator;
  }

  function createListen(page: Page | undefined) {
    return page?.window.addEventListener.bind(page.window);
  }

  /** Runs after all promises, without a delay. */
  function Ports() {
    const page = getCurrentPage();
    const port1 = { onmessage: undefined as (() => void) | undefined, close() {} };
    const arrive = () => port1.onmessage?.();
    return {
      port1,
      port2: { postMessage: () => void timeline.after(0, () => deliver(page, arrive)), close() {} },
    };
  }

  function createTimer(isRepeated: boolean) {
    return (act: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
      const page = getCurrentPage();
      let cancel: () => void;
      const set = () => {
        cancel = timeline.after(ms, () => {
          if (isRepeated) set();
          deliver(page, () => act(...args));
        });
      };
      set();
      return Object.assign(() => cancel(), { unref() {} });
    };
  }

  function getRandomValues<Values extends Uint8Array | Uint32Array>(values: Values): Values {
    const max = 2 ** (8 * values.BYTES_PER_ELEMENT);
    for (const index of values.keys()) values[index] = Math.floor(random() * max);
    return values;
  }

  function randomUUID(): string {
    const hex = [...getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0"));
    return [4, 2, 2, 2, 6].map((count) => hex.splice(0, count).join("")).join("-");
  }
}

function deliver(page: Page | undefined, act: () => void): void {
  if (page) page.deliver(act);
  else runOutside(act);
}

// the platform's own would work in another thread, and be done at any time

async function digest(_: string, data: Uint8Array): Promise<Uint8Array> {
  return createHash("sha256").update(data).digest();
}

async function importKey(_: string, key: Uint8Array): Promise<Uint8Array> {
  return key;
}

async function sign(_: string, key: Uint8Array, data: Uint8Array): Promise<Uint8Array> {
  return createHmac("sha256", key).update(data).digest();
}
