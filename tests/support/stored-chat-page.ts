import { createClient, streamResumption } from "@sluice/core";
import { type ChatState, createChatStore, indexedDBStorage } from "@sluice/stores";

/** Interface of the page for its test. */
export interface StoredChatPage {
  readonly state: () => ChatState;
  readonly send: (text: string) => Promise<unknown>;
  /** Connections to the database that the page has opened. */
  readonly connections: IDBDatabase[];
}

const connections: IDBDatabase[] = [];
const open = indexedDB.open.bind(indexedDB);
indexedDB.open = (...given) => {
  const request = open(...given);
  request.addEventListener("success", () => connections.push(request.result));
  return request;
};
const chat = createChatStore(createClient({ baseURL: location.origin, resume: streamResumption() }), {
  id: "trip",
  model: "delta-5.3",
  storage: indexedDBStorage(),
});
chat.subscribe(() => {});

Object.assign(globalThis, {
  page: { state: chat.getSnapshot, send: (text) => chat.send(text), connections } satisfies StoredChatPage,
});
