import { useStore } from "@nanostores/react";
import { createClient, streamResumption } from "@sluice/core";
import { devtoolsFetch, type Fault, playFault, recordCalls } from "@sluice/devtools/production";
import {
  describeError,
  GatewayProvider,
  indexedDBStorage,
  recordReceipts,
  type UseChatStreamResult,
} from "@sluice/react";
import { type ReactNode, useEffect } from "react";
import { playRecording } from "../demo/hosted/recorded-response.js";
import { startService } from "../demo/hosted/start.js";
import { isHosted, isOffline, waitForFirstResponse } from "./state.js";

/** URL of the proxy. A hosted page may have any path. */
export const baseURL =
  import.meta.env.VITE_GATEWAY ||
  (isHosted ? new URL(".", location.href).href.replace(/\/$/, "") : location.origin);

/** Storage of chats, tasks, images and drafts between visits. */
export const storage = indexedDBStorage();

/** Message of an error that the client takes for a request that never left. */
const NOT_SENT = "Failed to fetch: ENETUNREACH";

/** Sends a request. Without a network, a free request goes first, because a failed request may have arrived. */
async function send(request: Request): Promise<Response> {
  if (isHosted) {
    const recorded = await playRecording(request);
    if (recorded) return recorded;
    await startService().catch((cause: unknown) => {
      throw new TypeError(NOT_SENT, { cause });
    });
  }
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
if (isHosted)
  waitForFirstResponse()
    .then(startService)
    .catch(() => {});

/** Checks for the error of a request that never left. */
function isUnsent(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && error.cause.message === NOT_SENT;
}

/** Milliseconds without a network. */
const OFFLINE_MS = 4000;
let isOfflineNext = false;

/** Plays a fault on the next request. The network goes away after the first part of its response. */
export function playFaultNext(fault: Fault): void {
  isOfflineNext = fault === "offline";
  if (!isOfflineNext) playFault(client, fault);
}

function goOffline(): void {
  isOfflineNext = false;
  playFault(client, "offline");
  setTimeout(() => playFault(client, undefined), OFFLINE_MS);
}

/** The client of all rooms. The proxy adds the key. */
export const client = createClient({
  // a host with several pages has one storage for all of them
  ...(isHosted && { user: baseURL }),
  baseURL,
  resume: streamResumption(),
  // the emulator variants up assets at this path
  gateway: { includeUsage: true, assetLookup: "/gamma/asset/GetAsset" },
  onEvent: ({ type }) => type === "first-chunk" && isOfflineNext && goOffline(),
  // the emulator pauses for seconds at most, so a stalled stream continues soon
  ...(!import.meta.env.VITE_GATEWAY && { timeout: { chunkMs: 10_000 } }),
  fetch: devtoolsFetch(send),
});

// the inspector shows also the calls from before it was opened
recordCalls(client);
// each request is stored before it is sent, because it may be charged
recordReceipts(client, { storage });

/** Messages that were sent again by themselves. Each is sent again once. */
const sentAgain = new Set<string>();

/** Sends a message that never left once the network is back. Returns the words of its error. */
export function useSendWhenOnline({ messages, error, retry }: UseChatStreamResult) {
  const isAway = useStore(isOffline);
  const last = messages.at(-1);
  const unsentId = last?.role === "user" && isUnsent(error) && !sentAgain.has(last.id) ? last.id : undefined;
  useEffect(() => {
    if (isAway || unsentId === undefined) return;
    sentAgain.add(unsentId);
    void retry();
  }, [isAway, unsentId, retry]);
  return (problem: Error) => {
    const description = describeError(problem);
    if (!isUnsent(problem)) return description;
    const hint = unsentId ? "This is sent when you are back." : "Nothing was sent. Try again.";
    return { ...description, title: isAway || unsentId ? "You are offline" : "Not sent", hint };
  };
}

/** Provides the client to a part of the page. */
export function ClientProvider({ children }: { readonly children: ReactNode }) {
  return <GatewayProvider client={client}>{children}</GatewayProvider>;
}
