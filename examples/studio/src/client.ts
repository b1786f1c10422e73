import { createClient, streamResumption } from "@sluice/core";
import { devtoolsFetch } from "@sluice/devtools";
import { uploads } from "@sluice/media";
import { indexedDBStorage } from "@sluice/react";
import { atom } from "nanostores";
import { recordEvent, recordRequest } from "./inspector/feed.js";
import { checkFiles } from "./media/check-files.js";
import { assertReachable, isHosted, serverURL } from "./server.js";

/**
 * State of the storage. `failing`: it failed, and not all is written since; `refused`: the browser has refused its
 * database.
 */
export type Keeping = "well" | "failing" | "refused";

/** Says if this browser keeps chats and tasks. */
export const keeping = atom<Keeping>("well");

/** Notes that the browser did not keep something. */
export function noteStorageFailure(): void {
  if (keeping.get() !== "refused") keeping.set("failing");
}

/** Storage of chats, tasks, images, assets and drafts between visits: one for the whole page. */
export const storage = indexedDBStorage();

/** Options of every list of chats. A title leaves out the failures that a question asks the emulator for. */
export const chatListOptions = {
  storage,
  createTitle(question: string): string {
    const [line = ""] = question
      .replace(/\[\[[^\]]*\]\]\s*/g, "")
      .trim()
      .split("\n", 1);
    return line.length > 60 ? `${line.slice(0, 59).trimEnd()}…` : line;
  },
} as const;

/** Options of every list of video tasks: all of them poll the same way. Each object keeps its identity. */
export const videoOptions = { storage, intervalMs: 4000 } as const;

/** Says if the page plays a lost connection. */
export const isCut = atom(false);

let cable = new AbortController();

/** Fetches, unless the connection is cut; a cut ends what is under way as a lost network would. */
async function fetchUnlessCut(request: Request): Promise<Response> {
  await assertReachable();
  if (isCut.get()) throw new TypeError("Failed to fetch");
  return globalThis.fetch(request, { signal: AbortSignal.any([request.signal, cable.signal]) });
}

/** Cuts the connection of the client for a while. */
export function cutConnection(ms: number): void {
  isCut.set(true);
  cable.abort(new TypeError("network error"));
  cable = new AbortController();
  setTimeout(() => isCut.set(false), ms);
}

/** The client of all rooms. It has no key: the proxy that serves this page adds it. */
export const client = createClient({
  // a host of many pages has one storage for all of them
  ...(isHosted && { user: serverURL }),
  baseURL: serverURL,
  resume: streamResumption(),
  uploads: uploads({ check: checkFiles }),
  // the studio shows the tokens of each response; the lookup of assets is the emulator's, and the Worker lets it through
  gateway: { includeUsage: true, assetLookup: "/gamma/asset/GetAsset" },
  onEvent(event) {
    if (event.type === "feature-unavailable" && event.feature === "indexed-db") keeping.set("refused");
    if (event.type === "storage-error") noteStorageFailure();
    if (event.type === "storage-recovered") keeping.set("well");
    recordEvent(event);
  },
  fetch: devtoolsFetch((request) => {
    recordRequest(request);
    return fetchUnlessCut(request);
  }),
});
