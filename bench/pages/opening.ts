import { createClient } from "@sluice/core";
import { createChatStore, type InitialMessage, indexedDBStorage } from "@sluice/stores";
import { remoteStorage } from "@sluice/sync";

/** Times of one opening, in milliseconds. */
export interface Opened {
  /** Until the newest messages are shown. */
  readonly firstMs: number;
  /** Until all messages are shown. */
  readonly allMs: number;
}

const baseURL = location.origin;
const text =
  "Water does the work, and **nobody pumps**: the gates close, the paddles open, the level rises. ";

/** A conversation of questions and answers, of half a kilobyte on average. */
function messagesOf(count: number): readonly InitialMessage[] {
  return Array.from({ length: count }, (_, at) =>
    at % 2 === 0
      ? { role: "user", content: `How does lock ${at} work?` }
      : { role: "assistant", content: `${at}. ${text.repeat(10)}` },
  );
}

/** Opens the chat of so many messages; its scope is a browser of its own. */
function chatOf(scope: string, count: number) {
  const client = createClient({ baseURL, user: scope });
  const storage = scope === "local" ? indexedDBStorage() : remoteStorage(client);
  return createChatStore(client, { id: `long-${count}`, model: "delta-5.3", storage });
}

/** Waits until the state of a chat is as wished. */
function until(
  chat: ReturnType<typeof chatOf>,
  isSo: (state: ReturnType<typeof chat.getSnapshot>) => boolean,
) {
  return new Promise<void>((resolve) => {
    const stop = chat.subscribe(check);
    check();
    function check(): void {
      if (!isSo(chat.getSnapshot())) return;
      stop?.();
      resolve();
    }
  });
}

/** Opens a chat, and waits until its last and until all of its messages are shown. */
async function open(scope: string, count: number): Promise<Opened> {
  const startedAt = performance.now();
  const chat = chatOf(scope, count);
  await until(chat, ({ messages }) => messages.length > 0);
  const firstMs = performance.now() - startedAt;
  await until(chat, ({ messages }) => messages.length === count);
  return { firstMs, allMs: performance.now() - startedAt };
}

/** Writes a conversation in a browser, or reads it there for the first time, until the browser has all of it. */
async function keep(scope: string, count: number, isNew: boolean): Promise<void> {
  const chat = chatOf(scope, count);
  await until(chat, ({ isRestoring }) => !isRestoring);
  if (isNew) chat.setMessages(messagesOf(count));
  await until(
    chat,
    ({ messages, isSyncing, unsaved }) => messages.length === count && !isSyncing && unsaved === 0,
  );
}

Object.assign(window, {
  run: (act: "open" | "keep", scope: string, count: number, isNew: boolean) =>
    act === "open" ? open(scope, count) : keep(scope, count, isNew),
});
