/// <reference lib="webworker" />

declare const self: ServiceWorkerGlobalScope;

/** The global scope of a Service Worker. */
export const scope = self;

/** Response to a page that asks whether the server has started. */
export interface Started {
  /** Reason why the server did not start. Absent if it started. */
  readonly problem?: string;
}

/** Responds to each page that waits in `startServiceWorker`, and takes control of pages that loaded without this worker. */
export function handleStarts(start: () => Promise<unknown>, then?: () => Promise<unknown>): void {
  scope.addEventListener("message", (event) => event.waitUntil(respond(event.ports)));

  async function respond([port]: readonly MessagePort[]): Promise<void> {
    const started = await Promise.all([scope.clients.claim(), start()]).then(
      (): Started => ({}),
      (error: unknown): Started => ({ problem: String(error) }),
    );
    port?.postMessage(started);
    if (!started.problem) await then?.();
  }
}
