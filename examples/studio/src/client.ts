import { type Clock, createClient, indexedDBStorage } from "@sluice/core";
import { devtoolsFetch } from "@sluice/react/devtools";
import { recordEvent, recordRequest } from "./inspector/feed.js";
import { assertReachable, isHosted, serverURL } from "./server.js";
import { createValue } from "./value.js";

/**
 * State of the storage. `failing`: it failed, and not all is written since; `refused`: the browser has refused its
 * database.
 */
export type Keeping = "well" | "failing" | "refused";

/** Says if this browser keeps chats and tasks. */
export const keeping = createValue<Keeping>("well");

/** Notes that the browser did not keep something. */
export function noteStorageFailure(): void {
  keeping.set((known) => (known === "refused" ? known : "failing"));
}

/** Storage of chats, tasks, images, assets and drafts between visits: one for the whole page. */
export const storage = indexedDBStorage();

/** Options of every list of chats. A title leaves out the failures that a question asks the emulator for. */
export const chatListOptions = {
  storage,
  titleOf(question: string): string {
    const [line = ""] = question
      .replace(/\[\[[^\]]*\]\]\s*/g, "")
      .trim()
      .split("\n", 1);
    return line.length > 60 ? `${line.slice(0, 59).trimEnd()}…` : line;
  },
} as const;

/** Options of every list of video tasks: all of them poll the same way. Each object keeps its identity. */
export const videoOptions = { storage, intervalMs: 4000 } as const;

/** The longest delay that a timer takes. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** Says if the page plays a lost connection. */
export const isCut = createValue(false);

let cable = new AbortController();

/** Fetches, unless the connection is cut; a cut ends what is under way as a lost network would. */
async function fetchUnlessCut(request: Request): Promise<Response> {
  await assertReachable();
  if (isCut.getSnapshot()) throw new TypeError("Failed to fetch");
  return globalThis.fetch(request, { signal: AbortSignal.any([request.signal, cable.signal]) });
}

/** Cuts the connection of the client for a while. */
export function cutConnection(ms: number): void {
  isCut.set(true);
  cable.abort(new TypeError("network error"));
  cable = new AbortController();
  setTimeout(() => isCut.set(false), ms);
}

/** Ends the wait of a call that is about to be repeated. */
const waits = new Map<string, () => void>();
/** The call whose `retry` event came last: the client waits right after it. */
let waiting: string | undefined;

/** Notes that a call waits for its next attempt. */
function noteRetry(callId: string): void {
  waiting = callId;
}

/** Sends the next attempt of a call at once. */
export function retryNow(callId: string): void {
  waits.get(callId)?.();
}

/** The clock of the client: the platform's own, but `retryNow` ends the wait before an attempt. */
const retryClock: Clock = {
  now: () => performance.now(),
  sleep(ms, signal) {
    const callId = waiting;
    waiting = undefined;
    return new Promise<void>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => end(() => reject(signal?.reason));
      const timer = setTimeout(() => end(resolve), Math.min(ms, LONGEST_TIMER_MS));
      signal?.addEventListener("abort", abort, { once: true });
      if (callId !== undefined) waits.set(callId, () => end(resolve));
      function end(settle: () => void): void {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        if (callId !== undefined) waits.delete(callId);
        settle();
      }
    });
  },
};

/** The client of all rooms. It has no key: the proxy that serves this page adds it. */
export const client = createClient({
  // a host of many pages has one storage for all of them
  ...(isHosted && { scope: serverURL }),
  // the studio shows the tokens of each answer
  includeUsage: true,
  baseURL: serverURL,
  // the gateway's specification has no lookup of assets; the emulator has this one, and the Worker lets it through
  assetLookup: (id, request) => request("/gamma/asset/GetAsset", { Id: id }),
  onEvent(event) {
    if (event.type === "platform-limit" && event.feature === "indexed-db") keeping.set("refused");
    if (event.type === "storage-failure") noteStorageFailure();
    if (event.type === "storage-recovered") keeping.set("well");
    if (event.type === "retry") noteRetry(event.callId);
    recordEvent(event);
  },
  clock: retryClock,
  fetch: devtoolsFetch((request) => {
    recordRequest(request);
    return fetchUnlessCut(request);
  }),
});
