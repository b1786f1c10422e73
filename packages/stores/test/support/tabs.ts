import type { ClientEvent } from "@sluice/core";
import {
  type ChatMessage,
  type ChatStorage,
  type ChatStoreOptions,
  createChatStore,
  memoryStorage,
} from "@sluice/stores";
import {
  createTestClient,
  openBody,
  stoppedClock,
  streamResponse,
} from "../../../core/test/support/gateway.js";
import { until } from "./chat.js";

/** Opens a page with a chat in `storage`. Another page over the same storage is another tab, or a reload. */
export function openTab(storage: ChatStorage, options: Partial<ChatStoreOptions> = {}) {
  const clock = stoppedClock();
  const connections = Array.from({ length: 4 }, openBody);
  const events: ClientEvent[] = [];
  const { client, requests } = createTestClient(
    (_, nth) => streamResponse(connections[nth - 1]?.body ?? ""),
    {
      clock,
      onEvent: (event) => events.push(event),
    },
  );
  const chatOptions = { id: "a", model: "alpha-v4.1-flash", storage, ...options } as ChatStoreOptions;
  const chat = createChatStore(client, chatOptions);
  const listTexts = () => chat.getSnapshot().messages.map(({ content }) => content);
  const respond = (nth: number, text: string) => {
    connections[nth]?.send(text);
    connections[nth]?.end();
  };
  return { chat, clock, connections, requests, events, listTexts, respond };
}

/** Opens a page as a component does, and waits until it shows the stored messages. */
export async function readStored(storage: ChatStorage, options: Partial<ChatStoreOptions> = {}) {
  const opened = openTab(storage, options);
  opened.chat.subscribe(() => {});
  await until(opened.chat, ({ persistence }) => persistence?.status !== "restoring");
  return opened;
}

/**
 * Copies the chat "a" to a storage as the records of a closed page: under another id, whose locks no tab holds.
 *
 * @param change returns the stored form of a response
 */
export async function copyAsClosedPage(
  storage: ChatStorage,
  change: (message: ChatMessage) => object = (message) => message,
) {
  const id = `closed-${Math.random()}`;
  const copy = memoryStorage();
  const records = new Map(await storage.read("chat/a"));
  for (const [key, record] of records) {
    if (typeof record !== "object" || record === null) continue;
    const node = record as { message: ChatMessage };
    if (node.message.role === "assistant") records.set(key, { ...node, message: change(node.message) });
  }
  await copy.write(`chat/${id}`, records);
  return { storage: copy, id };
}
