import { createClient, streamResumption } from "@sluice/core";
import { devtoolsFetch } from "@sluice/devtools/production";
import { indexedDBStorage, recordReceipts } from "@sluice/react";
import { atom } from "nanostores";
import { startService } from "../demo/hosted/start.js";

declare global {
  interface ImportMetaEnv {
    /** URL of the proxy, if another server than the page's own answers. */
    readonly VITE_GATEWAY?: string;
    /** URL of the docs. */
    readonly VITE_DOCS?: string;
  }
}

/** True if the page is built as static files: its server is a Service Worker of this browser. */
export const isHosted = import.meta.env.MODE === "hosted";
/** URL of the proxy. A hosted page may have any path. */
export const baseURL =
  import.meta.env.VITE_GATEWAY ||
  (isHosted ? new URL(".", location.href).href.replace(/\/$/, "") : location.origin);

/** Storage of chats, tasks, images and drafts between visits. */
export const storage = indexedDBStorage();

/** True while the browser has no network and the server does not respond. A server on this machine responds. */
export const isOffline = atom(false);

/** Message of an error that the client takes for a request that never left. */
const NOT_SENT = "Failed to fetch: ENETUNREACH";

/** Sends a request. Without a network, a free request goes first, because a failed request may have arrived. */
async function send(request: Request): Promise<Response> {
  if (isHosted)
    await startService().catch((cause: unknown) => {
      throw new TypeError(NOT_SENT, { cause });
    });
  if (!(await checkNetwork())) throw new TypeError(NOT_SENT);
  return fetch(request);
}

async function checkNetwork(): Promise<boolean> {
  const isReachable =
    isHosted ||
    navigator.onLine ||
    (await fetch(`${baseURL}/`, { method: "HEAD", mode: "no-cors", cache: "no-store" }).then(
      () => true,
      () => false,
    ));
  isOffline.set(!isReachable);
  return isReachable;
}

addEventListener("online", checkNetwork);
addEventListener("offline", checkNetwork);

/** Checks for the error of a request that never left. */
export function isUnsent(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && error.cause.message === NOT_SENT;
}

/** Id of the last call whose response began. */
export const firstChunk = atom("");

/** The client of all rooms. It has no key: the proxy adds the key. */
export const client = createClient({
  // a host with several pages has one storage for all of them
  ...(isHosted && { user: baseURL }),
  baseURL,
  resume: streamResumption(),
  // the emulator looks up assets at this path
  gateway: { includeUsage: true, assetLookup: "/gamma/asset/GetAsset" },
  onEvent: (event) => event.type === "first-chunk" && firstChunk.set(event.callId),
  // the emulator is silent for seconds at most: a stalled stream goes on soon
  ...(!import.meta.env.VITE_GATEWAY && { timeout: { chunkMs: 10_000 } }),
  fetch: devtoolsFetch(send),
});

// each request is stored before it is sent, because it may be charged
recordReceipts(client, { storage });
