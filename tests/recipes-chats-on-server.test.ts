import { DatabaseSync } from "node:sqlite";
import {
  type ChatStore,
  createChatStore,
  createClient,
  memoryStorage,
  type RecordStorage,
} from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { filesOfPage } from "./support/page-files.ts";

/*
 * The recipe "Chats on your server": its server on SQLite, which reads the same statements as Postgres, and two devices
 * of one user.
 */

type Answer = (request: Request, owner: string) => Promise<Response>;
type Query = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>;

const page = "docs/recipes/chats-on-your-server.md";
const files = filesOfPage(page);
const TABLE = `CREATE TABLE records (owner TEXT NOT NULL, collection TEXT NOT NULL, key TEXT NOT NULL, value TEXT,
  PRIMARY KEY (owner, collection, key))`;
let answer: Answer;
let emulator: ReturnType<typeof createEmulator>;
const open: ChatStore[] = [];

beforeEach(async () => {
  const database = new DatabaseSync(":memory:");
  database.exec(TABLE);
  const query: Query = async (text, values) => {
    const named = Object.fromEntries(values.map((value, at) => [`$${at + 1}`, value as string | null]));
    return database.prepare(text).all(named) as Record<string, unknown>[];
  };
  const { createRecords } = await files<{ createRecords(query: Query): Answer }>("records.ts");
  answer = createRecords(query);
  let nth = 0;
  emulator = createEmulator({ speed: Number.POSITIVE_INFINITY, chat: () => `answer ${++nth}` });
  const network = (input: string, init?: RequestInit) =>
    answer(new Request(new URL(input, "https://app.example.com"), init), "ada");
  vi.stubGlobal("fetch", network);
  vi.stubGlobal("EventSource", eventSourceOf(network));
});
afterEach(() => {
  for (const chat of open.splice(0)) chat.close();
  vi.unstubAllGlobals();
});

/** A device: a chat that is shown, with drafts of its own. */
async function openDevice(drafts = memoryStorage()) {
  const { serverStorage } = await files<{ serverStorage(drafts: RecordStorage): RecordStorage }>(
    "storage.ts",
  );
  const client = createClient(emulator.clientOptions);
  const storage = serverStorage(drafts);
  const chat = createChatStore(client, { id: "trip", model: "delta-5.3", storage });
  open.push(chat);
  chat.subscribe(() => {});
  await expect.poll(() => chat.getSnapshot().isRestoring).toBe(false);
  const texts = () => chat.getSnapshot().messages.map(({ content }) => content);
  return { chat, texts, client, storage };
}

test("a turn on the phone shows on the laptop, and the laptop's next message follows it", async () => {
  const laptop = await openDevice();
  await laptop.chat.send("I am going to Rome");
  const phone = await openDevice();
  await expect.poll(() => phone.texts()).toHaveLength(2);
  await phone.chat.send("My name is Ada");
  await expect.poll(() => laptop.texts()).toHaveLength(4);
  await laptop.chat.send("What is my name?");
  const sent = emulator.requests.at(-1)?.body as { messages: { content: string }[] };
  expect(sent.messages.map(({ content }) => content)).toEqual([
    "I am going to Rome",
    "answer 1",
    "My name is Ada",
    "answer 2",
    "What is my name?",
  ]);
  await expect.poll(() => phone.texts()).toEqual(laptop.texts());
});

test("an answer that streams on one device is not ended by another that opens the chat", async () => {
  const phone = await openDevice();
  const turn = phone.chat.send("Hello [[stall]]");
  await expect.poll(() => phone.chat.getSnapshot().status).not.toBe("ready");
  const laptop = await openDevice();
  await expect.poll(() => laptop.texts()).toEqual(["Hello [[stall]]"]);
  phone.chat.stop();
  await turn;
  await expect.poll(() => laptop.chat.getSnapshot().messages.at(-1)?.outcome).toBe("stopped");
});

test("a chat is read again after a reload, and a removed one is gone on all devices", async () => {
  const laptop = await openDevice();
  await laptop.chat.send("Hello");
  const phone = await openDevice();
  await expect.poll(() => phone.texts()).toEqual(["Hello", "answer 1"]);
  await laptop.client.forget(laptop.storage);
  await expect.poll(() => phone.texts()).toEqual([]);
});

test("a user reads no records of another", async () => {
  const laptop = await openDevice();
  await laptop.chat.send("Hello");
  const url = `https://app.example.com/records/${encodeURIComponent("chat/trip")}`;
  const keys = async (owner: string) => Object.keys(await (await answer(new Request(url), owner)).json());
  expect(await keys("ada")).not.toEqual([]);
  expect(await keys("bob")).toEqual([]);
});

/** The part of a browser's `EventSource` that the page uses. */
function eventSourceOf(network: (input: string, init: RequestInit) => Promise<Response>) {
  return class {
    onopen: () => void = () => {};
    onmessage: (event: { data: string }) => void = () => {};
    readonly #left = new AbortController();

    constructor(url: string) {
      void this.#read(url).catch(() => {});
    }

    async #read(url: string): Promise<void> {
      const { body } = await network(url, { headers: { accept: "text/event-stream" } });
      const reader = (body as ReadableStream<Uint8Array<ArrayBuffer>>)
        .pipeThrough(new TextDecoderStream())
        .getReader();
      this.#left.signal.addEventListener("abort", () => void reader.cancel());
      for (let piece = await reader.read(); !piece.done; piece = await reader.read())
        if (piece.value.startsWith("data: ")) this.onmessage({ data: piece.value.slice(6) });
        else this.onopen();
    }

    close(): void {
      this.#left.abort();
    }
  };
}
