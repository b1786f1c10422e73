import { createClient } from "@sluice/core";
import {
  type ChatState,
  createChatStore,
  createVideoTaskStore,
  indexedDBStorage,
  type VideoTaskState,
} from "@sluice/stores";

/** Interface of the page for its test. */
export interface SandboxedPage {
  readonly origin: string;
  readonly makeVideo: () => void;
  readonly video: () => VideoTaskState;
  readonly send: (text: string) => void;
  readonly chat: () => ChatState;
  /** Features of `feature-unavailable` events, and the types of `storage-error` events. */
  readonly limits: readonly string[];
}

const limits: string[] = [];
const client = createClient({
  baseURL: new URL(location.href).origin,
  apiKey: "sk-test",
  dangerouslyAllowBrowser: true,
  onEvent(event) {
    if (event.type === "feature-unavailable") limits.push(event.feature);
    if (event.type === "storage-error") limits.push(event.type);
  },
});
const storage = indexedDBStorage();
const video = createVideoTaskStore(client, { storage, intervalMs: 100 });
const chat = createChatStore(client, { id: "chat", model: "delta-5.3", storage });
video.subscribe(() => {});
chat.subscribe(() => {});

Object.assign(globalThis, {
  page: {
    origin: self.origin,
    makeVideo: () => void video.create({ model: "beta3.0-video", input: { prompt: "A reef at dawn" } }),
    video: video.getSnapshot,
    send: (text) => void chat.send(text),
    chat: chat.getSnapshot,
    limits,
  } satisfies SandboxedPage,
});
