import { createEmulator } from "@sluice/emulator";
import { storeStreams } from "../../../examples/studio/demo/hosted/resumable-streams.ts";
import { handleStarts, scope } from "../../../examples/studio/demo/hosted/scope.ts";
import { toServerRequest } from "../../../examples/studio/demo/hosted/server-request.ts";

/* The gateway of the live examples: handles all requests below `live/` of this site. */

const baseURL = new URL("live", scope.location.href).href;
const emulator = createEmulator({
  origin: baseURL,
  speed: 2,
  durations: { imageMs: 1500, videoMs: 12_000 },
});
const gateway = storeStreams(emulator.fetch);

scope.addEventListener("install", () => void scope.skipWaiting());
scope.addEventListener("activate", (event) => event.waitUntil(scope.clients.claim()));
// a page waits until this worker has started. The emulator needs no preparation
handleStarts(async () => {});
scope.addEventListener("fetch", (event) => {
  if (event.request.url.startsWith(`${baseURL}/`)) event.respondWith(respond(event.request));
});

async function respond(request: Request): Promise<Response> {
  // the emulator sees its own routes, without `live/`; its `origin` is only for the addresses of files
  return gateway(await toServerRequest(request, baseURL, "https://gateway.test"));
}
