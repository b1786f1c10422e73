import { createClient, streamResumption } from "@sluice/core";
import { type ChatState, createChatStore } from "@sluice/stores";
import { remoteStorage } from "@sluice/sync";

/** Interface of the page for its test. */
export interface LeavingPage {
  readonly state: () => ChatState;
  readonly send: (text: string) => void;
  /** Calls a method in the task that closes the page. */
  readonly atEnd: (verb: "stop" | "send") => void;
}

const client = createClient({ baseURL: location.origin, resume: streamResumption() });
const storage = remoteStorage(client);
const chat = createChatStore(client, { id: "trip", model: "delta-5.3", storage, whenBusy: "queue" });
let last: "stop" | "send" | undefined;
addEventListener("pagehide", () => {
  if (last === "stop") chat.stop();
  if (last === "send") void chat.send("The last words");
});
chat.subscribe(() => {});

Object.assign(globalThis, {
  page: {
    state: chat.getSnapshot,
    send: (text) => void chat.send(text),
    atEnd(verb) {
      last = verb;
    },
  } satisfies LeavingPage,
});
