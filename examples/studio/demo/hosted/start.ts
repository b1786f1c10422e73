import { atom } from "nanostores";
import { startServiceWorker } from "./start-service-worker.js";

/** Reason why the studio can't run here. */
export interface HostedProblem {
  readonly kind: "unsupported" | "unloaded" | "failed";
  /** Message of the browser's error. */
  readonly detail?: string;
}

/** Reason why the studio can't run here. Undefined while no problem is known. */
export const hostedProblem = atom<HostedProblem | undefined>(undefined);

let starting: Promise<void> | undefined;

/** Starts the Service Worker of this page, once. Rejects if it can't start. */
export function startService(): Promise<void> {
  starting ??= start();
  // the next request tries again
  starting.catch(() => {
    starting = undefined;
  });
  return starting;
}

async function start(): Promise<void> {
  if (!navigator.serviceWorker) return fail({ kind: "unsupported" });
  try {
    await startServiceWorker(new URL("service-worker.js", document.baseURI));
    hostedProblem.set(undefined);
  } catch (error) {
    // offline, the script may be missing; online, the browser does not allow a Service Worker
    return fail({ kind: navigator.onLine ? "failed" : "unloaded", detail: String(error) });
  }
}

/** @throws {Error} always */
function fail(problem: HostedProblem): never {
  hostedProblem.set(problem);
  throw new Error(problem.detail ?? problem.kind);
}
