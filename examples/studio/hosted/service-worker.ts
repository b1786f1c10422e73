import type { Gateway } from "./gateway.ts";
import { openPageFiles } from "./page-files.ts";

/*
 * The Service Worker of the hosted studio. It answers everything below the page's folder: files from the cache, and all
 * else by the gateway, whose script it loads with the first request that needs it.
 */

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
/** The part of a Service Worker's global scope that is used here. */
interface Scope {
  readonly location: Location;
  readonly clients: { claim(): Promise<void> };
  readonly registration: { readonly navigationPreload?: { enable(): Promise<void> } };
  importScripts(path: string): void;
  addEventListener(type: "install" | "activate", listener: (event: ExtendableEvent) => void): void;
  addEventListener(type: "fetch", listener: (event: FetchEvent) => void): void;
  addEventListener(type: "message", listener: (event: MessageFromPage) => void): void;
}

/** Set by the build: all files of the page, and those with which it opens and answers without a network. */
declare const FILES: readonly string[];
declare const CORE: readonly string[];

/** Answer to a page that asks if the gateway is there. */
export interface Started {
  /** Why it is not; absent where it is. */
  readonly problem?: string;
}

// the compiler takes it for that of a page
const scope = globalThis as unknown as Scope;
const base = new URL(".", scope.location.href).href;
const pageFiles = openPageFiles(base);
let opening: Promise<Gateway> | undefined;

scope.addEventListener("install", () => {
  // a script that is not loaded now could not be loaded later
  scope.importScripts("gateway.js");
});
scope.addEventListener("activate", (event) =>
  event.waitUntil(
    Promise.all([
      scope.clients.claim(),
      scope.registration.navigationPreload?.enable(),
      pageFiles.forgetOthers(FILES),
    ]),
  ),
);
scope.addEventListener("message", (event) => event.waitUntil(start(event.ports)));
scope.addEventListener("fetch", (event) => {
  const { request } = event;
  if (!request.url.startsWith(base)) return;
  if (/^(?:v1|gamma|emulator)\//.test(request.url.slice(base.length)))
    return event.respondWith(gateway().then((answer) => answer(request)));
  if (request.method === "GET" || request.method === "HEAD")
    event.respondWith(pageFiles.answer(request, event.preloadResponse));
});

function gateway(): Promise<Gateway> {
  opening ??= open();
  // the next request tries again
  opening.catch(() => {
    opening = undefined;
  });
  return opening;
}

async function open(): Promise<Gateway> {
  if (!globalThis.openGateway) scope.importScripts("gateway.js");
  if (!globalThis.openGateway) throw new Error("the script of the gateway is not there");
  return globalThis.openGateway({ base, fileAt: (path) => pageFiles.answer(new Request(base + path)) });
}

/** Takes the page that asks, also one that was loaded past this worker, and says if the gateway is there. */
async function start([port]: readonly MessagePort[]): Promise<void> {
  const started = await Promise.all([scope.clients.claim(), gateway()]).then(
    (): Started => ({}),
    (error: unknown): Started => ({ problem: String(error) }),
  );
  port?.postMessage(started);
  if (!started.problem) await pageFiles.loadCore(CORE);
}
