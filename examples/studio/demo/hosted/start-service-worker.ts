import type { Started } from "./scope.ts";

/** Maximum time of each step, in milliseconds. A slow connection needs long to load the gateway. */
const MAX_STEP_MS = 120_000;

/**
 * Registers a Service Worker that calls `handleStarts`, and waits until it serves this page.
 *
 * @throws {Error} if it can't be installed, if its server did not start, and if it does not respond
 */
export async function startServiceWorker(script: string | URL): Promise<void> {
  const { serviceWorker } = navigator;
  const registration = await serviceWorker.register(script);
  const worker = await limitTime(MAX_STEP_MS, waitForActivation(registration));
  const { problem } = await limitTime(MAX_STEP_MS, requestStart(worker));
  if (problem) throw new Error(problem);
  await limitTime(MAX_STEP_MS, waitForControl(serviceWorker));
}

/** Waits until a worker is active. @throws {Error} if it could not be installed */
async function waitForActivation(registration: ServiceWorkerRegistration): Promise<ServiceWorker> {
  const first = registration.active ?? registration.waiting ?? registration.installing;
  if (!first) throw new Error("Service Worker: missing");
  while (first.state !== "activated") {
    if (first.state === "redundant") throw new Error("Service Worker: redundant");
    await new Promise((resolve) => first.addEventListener("statechange", resolve, { once: true }));
  }
  return first;
}

/** Asks the worker to start its server. */
function requestStart(worker: ServiceWorker): Promise<Started> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = ({ data }: MessageEvent<Started>) => {
      port1.close();
      resolve(data);
    };
    worker.postMessage("start", [port2]);
  });
}

/** Waits until the Service Worker controls the page. After a reload with Shift, the page starts without a controller. */
async function waitForControl(container: ServiceWorkerContainer): Promise<void> {
  while (!container.controller)
    await new Promise((resolve) => container.addEventListener("controllerchange", resolve, { once: true }));
}

function limitTime<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`Service Worker: silent for ${ms / 1000} s`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
