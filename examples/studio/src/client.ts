import { createClient, indexedDBStorage } from "@sluice/core";
import { recordEvent, recordRequest } from "./inspector/calls.js";
import { fetchUnlessCut, noteRetry, retryClock } from "./network.js";
import { createValue } from "./value.js";

/** Says if this browser keeps chats and tasks: false from its first failure on. */
export const isKeeping = createValue(true);

/** Notes that the browser did not keep something. */
export function noteStorageFailure(): void {
  isKeeping.set(false);
}

/** Storage of chats, tasks, images, assets and drafts between visits: one for the whole page. */
export const storage = indexedDBStorage();

/** Options of every list of chats. A title leaves out the failures that a question asks the emulator for. */
export const chatListOptions = {
  storage,
  titleOf: (question: string) =>
    question
      .replace(/\[\[[^\]]*\]\]\s*/g, "")
      .trim()
      .split("\n", 1)
      .join()
      .slice(0, 60),
} as const;

/** Options of every list of video tasks: all of them poll the same way. Each object keeps its identity. */
export const videoOptions = { storage, intervalMs: 4000 } as const;

/** The client of all rooms. It has no key: the proxy that serves this page adds it. */
export const client = createClient({
  baseURL: import.meta.env.VITE_GATEWAY || location.origin,
  // the gateway's specification has no lookup of assets; the emulator has this one, and the Worker lets it through
  assetLookup: (id, request) => request("/gamma/asset/GetAsset", { Id: id }),
  onEvent(event) {
    const isRefusal = event.type === "platform-limit" && event.feature === "indexed-db";
    if (isRefusal || event.type === "storage-failure") noteStorageFailure();
    if (event.type === "retry") noteRetry(event.callId);
    recordEvent(event);
  },
  clock: retryClock,
  fetch(request) {
    recordRequest(request);
    return fetchUnlessCut(request);
  },
});
