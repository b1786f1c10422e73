import { readFileSync } from "node:fs";
import { createClient } from "@sluice/core";
import { createEventParser } from "@sluice/core/sse";
import { createEmulator } from "@sluice/emulator";
import { type ChatStorage, type ChatStore, createChatStore, memoryStorage, signOut } from "@sluice/stores";
import { storageTests } from "@sluice/stores/testing";
import postgres, { type Sql } from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type PostgresServer, startPostgres } from "../../packages/durable/test/support/postgres-server.ts";
import { writeFilesOfPage } from "../support/page-files.ts";

/*
 * The recipe "Chats on your server": two processes of its server on a real Postgres, and two devices of one user. Requests
 * come to one process and the other in turn.
 */

type JSONResponse = (request: Request, owner: string) => Promise<Response>;
type Records = { createRecords(sql: Sql): Promise<JSONResponse> };
type Page = { serverStorage(drafts: ChatStorage): ChatStorage };

const files = writeFilesOfPage("docs/recipes/chats-in-your-database.md");
let server: PostgresServer;
const connections: Sql[] = [];
const processes: JSONResponse[] = [];
let serverStorage: Page["serverStorage"];
let emulator: ReturnType<typeof createEmulator>;
let owner = "";
let requests = 0;
let isAway = false;
const openChats: ChatStore[] = [];

beforeAll(async () => {
  server = await startPostgres();
  const connect = () => {
    const sql = postgres(server.url, { max: 4, max_lifetime: null, onnotice: () => {} });
    connections.push(sql);
    return sql;
  };
  const table = `${import.meta.dirname}/../../docs/examples/chats-in-your-database/records.sql`;
  await connect().unsafe(readFileSync(table, "utf8"));
  const { createRecords } = await files<Records>("records.ts");
  for (let nth = 0; nth < 2; nth += 1) processes.push(await createRecords(connect()));
  ({ serverStorage } = await files<Page>("storage.ts"));
});
afterAll(async () => {
  await Promise.all(connections.map((sql) => sql.end({ timeout: 1 })));
  await server.close();
});

beforeEach(() => {
  owner = `ada ${crypto.randomUUID()}`;
  isAway = false;
  let nth = 0;
  emulator = createEmulator({ speed: Number.POSITIVE_INFINITY, chat: () => `answer ${++nth}` });
  vi.stubGlobal("fetch", network);
  vi.stubGlobal("EventSource", EventSourceOfTests);
});
afterEach(() => {
  for (const chat of openChats.splice(0)) chat.close();
  vi.unstubAllGlobals();
});

/** Answers as the framework of an app does: an error of its function is a 500. */
async function network(input: string, init?: RequestInit): Promise<Response> {
  const request = new Request(new URL(input, "https://app.example.com"), init);
  if (isAway) throw new TypeError("fetch failed");
  requests += 1;
  const response = processes[requests % processes.length] as JSONResponse;
  return response(request, owner).catch(() => new Response(null, { status: 500 }));
}

/** Opens a device: a visible chat with its own drafts. */
async function openDevice(drafts = memoryStorage()) {
  const client = createClient(emulator.clientOptions);
  const storage = serverStorage(drafts);
  const chat = openChat(storage, client);
  await expect.poll(() => chat.getSnapshot().persistence?.status).not.toBe("restoring");
  const texts = () => chat.getSnapshot().messages.map(({ content }) => content);
  return { chat, texts, client, storage };
}

function openChat(storage: ChatStorage, client = createClient(emulator.clientOptions)): ChatStore {
  const chat = createChatStore(client, { id: "trip", model: "delta-5.3", storage });
  openChats.push(chat);
  chat.subscribe(() => {});
  return chat;
}

describe("The contract on the server of the recipe", () => {
  const cases = storageTests({
    create: () => serverStorage(memoryStorage()),
    createUnreachable() {
      isAway = true;
      return serverStorage(memoryStorage());
    },
    deadlineMs: 30_000,
  });
  test.for(cases)("$title", ({ run }, context) => run(context));
});

test("A turn on the phone shows on the laptop, and the laptop's next message follows it", async () => {
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
  const later = await openDevice();
  await expect.poll(() => later.texts()).toEqual(laptop.texts());
});

test("Without a watch the phone's turn is gone from view, as the page says", async () => {
  const messageStorage = serverStorage(memoryStorage());
  const reads: Promise<unknown>[] = [];
  const storage: ChatStorage = {
    ...messageStorage,
    subscribe: () => () => {},
    read(collection) {
      const reading = messageStorage.read(collection);
      reads.push(reading);
      return reading;
    },
  };
  const [laptop, phone] = [openChat(storage), openChat(storage)];
  await expect.poll(() => reads.length).toBe(2);
  await Promise.all(reads);
  for (const chat of [laptop, phone])
    await expect.poll(() => chat.getSnapshot().persistence?.status).not.toBe("restoring");
  await phone.send("My name is Ada");
  await laptop.send("What is my name?");
  const later = await openDevice();
  await expect.poll(() => later.texts()).toEqual(["What is my name?", "answer 2"]);
});

test("A change that is written while all processes have lost their listening is reported afterwards", async () => {
  const [sql, storage] = [connections[0] as Sql, serverStorage(memoryStorage())];
  const seen = new Map<string, unknown>();
  const stop = storage.subscribe("notes", (changes) => {
    for (const [key, record] of changes) seen.set(key, record);
  });
  await storage.write("notes", new Map([["a", 1]]));
  await expect.poll(() => seen.get("a")).toBe(1);
  await sql.begin(async (sql) => {
    const ended =
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ILIKE 'listen %'`;
    expect(ended).toHaveLength(2);
    await sql`INSERT INTO records (owner, collection, key, value) VALUES (${owner}, 'notes', 'b', '2')`;
    await sql`SELECT pg_notify('records', ${owner})`;
  });
  await expect.poll(() => seen.get("b")).toBe(2);
  stop();
});

test("A response that streams on one device is not ended by another that opens the chat", async () => {
  const phone = await openDevice();
  const turn = phone.chat.send("Hello [[stall]]");
  await expect.poll(() => phone.chat.getSnapshot().status).not.toBe("ready");
  const laptop = await openDevice();
  await expect.poll(() => laptop.texts()).toEqual(["Hello [[stall]]"]);
  phone.chat.stop();
  await turn;
  await expect.poll(() => laptop.chat.getSnapshot().messages.at(-1)?.outcome).toBe("stopped");
});

test("A chat is read again after a reload, and a removed one is gone on all devices", async () => {
  const laptop = await openDevice();
  await laptop.chat.send("Hello");
  const phone = await openDevice();
  await expect.poll(() => phone.texts()).toEqual(["Hello", "answer 1"]);
  await signOut(laptop.client, { storages: [laptop.storage] });
  await expect.poll(() => phone.texts()).toEqual([]);
});

test("A user reads no records of another, and stores nothing that is no JSON", async () => {
  const laptop = await openDevice();
  await laptop.chat.send("Hello");
  const url = "https://app.example.com/records?collection=chat%2Ftrip";
  const [response] = processes as [JSONResponse, JSONResponse];
  const listKeys = async (user: string) =>
    ((await (await response(new Request(url), user)).json()) as { key: string }[]).map(({ key }) => key);
  expect(await listKeys(owner)).not.toEqual([]);
  expect(await listKeys("bob")).toEqual([]);
  const body = JSON.stringify([{ key: "a", value: "{cut" }]);
  await expect(response(new Request(url, { method: "PATCH", body }), owner)).rejects.toThrow(
    "check constraint",
  );
  expect(await listKeys(owner)).not.toContain("a");
});

/** The part of a browser's `EventSource` that the page uses. After the end of a stream it reconnects with the last id. */
class EventSourceOfTests {
  static readonly CLOSED = 2;
  readyState = 0;
  onerror = () => {};
  onmessage: (event: { data: string }) => void = () => {};
  readonly #left = new AbortController();

  constructor(url: string) {
    void this.#follow(url);
  }

  async #follow(url: string): Promise<void> {
    const headers: Record<string, string> = { accept: "text/event-stream" };
    const { signal } = this.#left;
    while (!signal.aborted) {
      const response = await network(url, { headers }).catch(() => undefined);
      if (response && !response.ok) {
        this.readyState = EventSourceOfTests.CLOSED;
        this.onerror();
        return;
      }
      await this.#read(response, headers).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async #read(response: Response | undefined, headers: Record<string, string>): Promise<void> {
    const reader = response?.body?.getReader();
    this.#left.signal.addEventListener("abort", () => void reader?.cancel().catch(() => {}));
    const parser = createEventParser({
      onId: (id) => {
        headers["last-event-id"] = id;
      },
      onEvent: ({ data }) => !this.#left.signal.aborted && this.onmessage({ data }),
    });
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read())
      parser.push(piece.value);
  }

  close(): void {
    this.readyState = EventSourceOfTests.CLOSED;
    this.#left.abort();
  }
}
