import { atom } from "nanostores";
import type { Started } from "../../hosted/service-worker.ts";

/** Message of the error of a request that did not leave: the client takes it for one that was not sent. */
export const NOT_SENT = "Failed to fetch: ENETUNREACH";

/** Reason why the studio can't run here. */
export interface HostedProblem {
  readonly kind: "unsupported" | "unloaded" | "failed";
  /** The browser's own words. */
  readonly detail?: string;
}

/** Says why the studio can't run here; undefined where it can, as far as is known. */
export const hostedProblem = atom<HostedProblem | undefined>(undefined);

/** Longest time that the Service Worker may take to start, in milliseconds: it loads about a megabyte. */
const LONGEST_START_MS = 120_000;

let starting: Promise<void> | undefined;

/** Starts the Service Worker that answers this page, once. Resolves when it does. */
export function startService(): Promise<void> {
  starting ??= start();
  // the next request tries again
  starting.catch(() => {
    starting = undefined;
  });
  return starting;
}

async function start(): Promise<void> {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return fail({ kind: "unsupported" });
  try {
    const registration = await serviceWorker.register(new URL("service-worker.js", document.baseURI));
    const worker = await within(LONGEST_START_MS, activeIn(registration));
    const { problem } = await within(LONGEST_START_MS, started(worker));
    if (problem) throw new Error(problem);
    await within(LONGEST_START_MS, untilControlled(serviceWorker));
    hostedProblem.set(undefined);
  } catch (error) {
    // without a network its script may be missing; otherwise the browser refuses what it needs
    return fail({ kind: navigator.onLine ? "failed" : "unloaded", detail: String(error) });
  }
}

/** @throws {Error} always */
function fail(problem: HostedProblem): never {
  hostedProblem.set(problem);
  throw new TypeError(NOT_SENT);
}

/** Waits until a worker is active. @throws {Error} where it could not be installed */
async function activeIn(registration: ServiceWorkerRegistration): Promise<ServiceWorker> {
  const first = registration.active ?? registration.waiting ?? registration.installing;
  if (!first) throw new Error("Service Worker: missing");
  while (first.state !== "activated") {
    if (first.state === "redundant") throw new Error("Service Worker: redundant");
    await new Promise((resolve) => first.addEventListener("statechange", resolve, { once: true }));
  }
  return first;
}

/** Asks the worker if its gateway is there. */
function started(worker: ServiceWorker): Promise<Started> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = ({ data }: MessageEvent<Started>) => {
      port1.close();
      resolve(data);
    };
    worker.postMessage("start", [port2]);
  });
}

/** A page that was loaded past its Service Worker, by Shift and Reload, is taken by it now. */
async function untilControlled(container: ServiceWorkerContainer): Promise<void> {
  while (!container.controller)
    await new Promise((resolve) => container.addEventListener("controllerchange", resolve, { once: true }));
}

function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`Service Worker: silent for ${ms / 1000} s`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
