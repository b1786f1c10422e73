/* The part of a Service Worker's global scope that is used here: the compiler takes it for that of a page. */

interface ExtendableEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface FetchEvent extends ExtendableEvent {
  readonly request: Request;
  readonly preloadResponse: Promise<Response | undefined>;
  respondWith(response: Promise<Response>): void;
}
interface MessageFromPage extends ExtendableEvent {
  readonly ports: readonly MessagePort[];
}
interface Scope {
  readonly location: Location;
  readonly clients: { claim(): Promise<void> };
  readonly registration: { readonly navigationPreload?: { enable(): Promise<void> } };
  skipWaiting(): Promise<void>;
  importScripts(path: string): void;
  addEventListener(type: "install" | "activate", listener: (event: ExtendableEvent) => void): void;
  addEventListener(type: "fetch", listener: (event: FetchEvent) => void): void;
  addEventListener(type: "message", listener: (event: MessageFromPage) => void): void;
}

export const scope = globalThis as unknown as Scope;

/** Response to a page that asks whether the server has started. */
export interface Started {
  /** Why it has not; absent if it has. */
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
