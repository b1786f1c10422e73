// @vitest-environment node
import { streamChat } from "@sluice/core";
import { type ChatStorage, createChatStore } from "@sluice/stores";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { writeFilesOfExample } from "../support/page-files.ts";
import { numbered, openGateway } from "./gateway.ts";
import { importNewest } from "./newest.ts";

/*
 * The guide "React Native" without the globals of a page: no window, locks, channels or IndexedDB. Expo's `fetch` and
 * AsyncStorage are the real packages if `scripts/newest.ts` has installed them; their native half is simulated.
 */

interface Page {
  createItemStorage(items: object): ChatStorage;
}

const files = writeFilesOfExample("react-native");

beforeEach(() => {
  vi.stubGlobal("navigator", { product: "ReactNative" });
  for (const name of ["window", "document", "BroadcastChannel", "indexedDB", "localStorage"])
    vi.stubGlobal(name, undefined);
});
afterEach(() => vi.unstubAllGlobals());

/** AsyncStorage 3 as its types say, in memory. */
function memoryItems() {
  const texts = new Map<string, string>();
  return {
    texts,
    getAllKeys: async () => [...texts.keys()],
    getMany: async (keys: string[]) => Object.fromEntries(keys.map((key) => [key, texts.get(key) ?? null])),
    setMany: async (entries: Record<string, string>) => {
      for (const [key, text] of Object.entries(entries)) texts.set(key, text);
    },
    removeMany: async (keys: string[]) => {
      for (const key of keys) texts.delete(key);
    },
  };
}

/** Talks, opens the app again, and signs out. */
async function liveWith(storage: ChatStorage) {
  const { client, emulator } = openGateway({ chat: numbered() });
  const openChat = (app = client) => createChatStore(app, { model: "delta-5.3", id: "talk", storage });
  const chat = openChat();
  await chat.send("How deep is the sea?");
  await chat.regenerate();
  await expect.poll(() => chat.getSnapshot().persistence?.pending).toBe(0);
  chat.close();

  const again = openChat(openGateway({}, emulator.clientOptions).client);
  const unsubscribe = again.subscribe(() => {});
  await expect.poll(() => again.getSnapshot().messages.at(-1)?.content).toContain("answer 2");
  expect(again.getThread()).toHaveLength(3);
  await again.send("And the lake?");
  expect(JSON.stringify(emulator.requests[2]?.body)).toContain("answer 2");
  unsubscribe();
  again.close();
  await storage.clear?.("chat");
  expect([...(await storage.read("chat/talk")).keys()]).toEqual([]);
}

test("a chat has all of its branches when the app opens again, and is deleted after signing out", async () => {
  const { createItemStorage } = await files<Page>("item-storage.ts");
  const items = memoryItems();
  items.texts.set("of the app", "1");
  await liveWith(createItemStorage(items));
  expect([...items.texts.keys()]).toEqual(["of the app"]);
});

// only the weekly run installs this package and Expo
const asyncStorage = await importNewest<{ default: object }>("@react-native-async-storage/async-storage");

test.skipIf(!asyncStorage)("the real AsyncStorage keeps a chat, over the storage of a browser", async () => {
  const texts = new Map<string, string>();
  const localStorage = new Proxy(
    {
      getItem: (key: string) => texts.get(key) ?? null,
      setItem: (key: string, text: string) => void texts.set(key, text),
      removeItem: (key: string) => void texts.delete(key),
    },
    {
      ownKeys: () => [...texts.keys()],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
    },
  );
  const { createItemStorage } = await files<Page>("item-storage.ts");
  vi.stubGlobal("window", { localStorage });
  const items = asyncStorage?.default as object;
  await liveWith(createItemStorage(items));
  expect(texts.size).toBe(0);
});

type ExpoFetch = (url: string, init: RequestInit) => Promise<Response>;
vi.mock("../node_modules/expo/src/winter/fetch/ExpoFetchModule.ts", async () => ({
  ExpoFetchModule: await import("./expo-native.ts"),
}));
const file = `${import.meta.dirname}/../node_modules/expo/src/winter/fetch/fetch.ts`;
const { fetch: fetchOfExpo } = (await importNewest<{ fetch: ExpoFetch }>("expo", file)) ?? {};

describe.skipIf(!fetchOfExpo)("with the fetch of Expo over a native half of ours", () => {
  function openChat() {
    const { emulator } = openGateway();
    vi.stubGlobal("gateway", emulator.fetch);
    const { client } = openGateway(
      {},
      {
        ...emulator.clientOptions,
        fetch: async (request) => {
          const { url, method, headers, signal } = request;
          const body = method === "GET" ? null : await request.text();
          return (fetchOfExpo as ExpoFetch)(url, { method, headers, signal, body });
        },
      },
    );
    const sendMessage = (content: string) =>
      streamChat(client, { model: "delta-5.3", messages: [{ role: "user", content }] });
    return { emulator, sendMessage };
  }

  test("a response comes in pieces", async () => {
    const pieces: string[] = [];
    const stream = openChat().sendMessage("Tell me of springs");
    for await (const delta of stream) if (delta.type === "text-delta") pieces.push(delta.text);
    expect(pieces.length).toBeGreaterThan(3);
    expect((await stream.result()).message.content).toBe(pieces.join(""));
  });

  test("a response that is cut, and a connection that is lost, are errors with the text so far", async () => {
    const { sendMessage } = openChat();
    for (const fault of ["truncate", "drop"])
      await expect(sendMessage(`Tell me of lakes [[${fault}]]`).result()).rejects.toMatchObject({
        name: "StreamError",
        partial: { content: expect.stringMatching(/./) },
      });
  });

  test("an abort reaches the gateway", async () => {
    const { sendMessage, emulator } = openChat();
    const stream = sendMessage("Tell me of rivers [[stall]]");
    for await (const delta of stream) if (delta.type === "text-delta") break;
    await expect.poll(() => emulator.requests[0]?.aborted).toBe(true);
  });
});
