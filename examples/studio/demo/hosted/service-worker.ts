import type { Gateway } from "./gateway.ts";
import { openPageFiles } from "./page-files.ts";
import { handleStarts, scope } from "./scope.ts";

/*
 * The Service Worker of the hosted studio. It responds to all requests below the page's folder: with files of the cache, or
 * with responses of the gateway. The first request to the gateway loads its script.
 */

/** Set by the build: all files of the page, and the files that it needs without a network. */
declare const FILES: readonly string[];
declare const CORE: readonly string[];

const base = new URL(".", scope.location.href).href;
const pageFiles = openPageFiles(base);
let opening: Promise<Gateway> | undefined;

scope.addEventListener("install", () => {
  // a Service Worker can't load a new script after its installation
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
handleStarts(gateway, () => pageFiles.loadCore(CORE));
scope.addEventListener("fetch", (event) => {
  const { request } = event;
  if (!request.url.startsWith(base)) return;
  if (/^(?:v1|gamma|emulator)\//.test(request.url.slice(base.length)))
    return event.respondWith(gateway().then((respond) => respond(request)));
  if (request.method === "GET") event.respondWith(pageFiles.respond(request, event.preloadResponse));
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
  if (!globalThis.openGateway) throw new Error("the script of the gateway did not load");
  return globalThis.openGateway(base);
}
