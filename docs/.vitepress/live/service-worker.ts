import { createEmulator } from "@sluice/emulator";
import { keepAnswers } from "./kept-answers.ts";

/* The gateway of the live examples: answers all requests below `live/` of this site. */

interface ExtendableEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface FetchEvent extends ExtendableEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}
/** The part of a Service Worker's global scope that is used here. */
interface Scope {
  readonly location: Location;
  readonly clients: { claim(): Promise<void> };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", listener: (event: ExtendableEvent) => void): void;
  addEventListener(type: "fetch", listener: (event: FetchEvent) => void): void;
}

const scope = globalThis as unknown as Scope;
const address = new URL("live", scope.location.href).href;
const emulator = createEmulator({
  origin: address,
  speed: 2,
  durations: { imageMs: 1500, videoMs: 12_000 },
});
const gateway = keepAnswers(emulator.fetch);

scope.addEventListener("install", () => void scope.skipWaiting());
scope.addEventListener("activate", (event) => event.waitUntil(scope.clients.claim()));
scope.addEventListener("fetch", (event) => {
  if (event.request.url.startsWith(`${address}/`)) event.respondWith(answer(event.request));
});

async function answer(request: Request): Promise<Response> {
  const { method, headers, signal } = request;
  const body = method === "POST" ? await request.arrayBuffer() : null;
  const url = `https://gateway.test${request.url.slice(address.length)}`;
  return gateway(new Request(url, { method, headers, signal, body }));
}
