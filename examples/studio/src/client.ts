import { createClient } from "@sluice/core";
import { createPageStore } from "./store.js";

let keepsNothing = false;
const keeping = createPageStore(() => !keepsNothing);

/** Whether this browser keeps conversations: false from the first time that it did not. */
export const isKeeping = { getSnapshot: keeping.getSnapshot, subscribe: keeping.subscribe };

/** The browser did not keep something. */
export function noteStorageFailure(): void {
  keepsNothing = true;
  keeping.flush();
}

/** The proxy that serves this page adds the key: there is none in here, and must not be. */
export const client = createClient({
  baseURL: import.meta.env.VITE_GATEWAY || location.origin,
  // the gateway's specification shows no lookup: this one is the emulator's, which the Worker lets through
  assetLookup: (id, request) => request("/gamma/asset/GetAsset", { Id: id }),
  onEvent: ({ type }) => type === "storage-failure" && noteStorageFailure(),
});
