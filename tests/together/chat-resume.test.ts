import { createClient, streamResumption } from "@sluice/core";
import { type ChatStorage, type ChatStoreOptions, createChatStore, memoryStorage } from "@sluice/stores";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startDurableProxy } from "../../packages/durable/test/support/workerd.js";
import { chunk, done, finish } from "../../packages/worker-proxy/test/support/upstream.js";
import { createTestClock } from "../support/test-clock.ts";

let proxy: Awaited<ReturnType<typeof startDurableProxy>>;
beforeAll(async () => {
  proxy = await startDurableProxy();
});
afterAll(() => proxy.close());

/** A gateway that has begun its response; the test writes the rest. */
function begun(first: string) {
  let send!: (text: string) => void;
  proxy.upstream.respondWith((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(first);
    send = (text) => response.write(text);
  });
  return { send: (text: string) => send(text) };
}

/** A page. A test can cut its connections without notice, like a tunnel or a reload. */
function page(storage: ChatStorage, id = "a") {
  const connections: AbortController[] = [];
  const client = createClient({
    baseURL: proxy.address,
    resume: streamResumption(),
    clock: createTestClock(50),
    headers: { authorization: "user-1" },
    fetch: (request) => {
      const connection = new AbortController();
      connections.push(connection);
      return fetch(request, { signal: AbortSignal.any([request.signal, connection.signal]) });
    },
  });
  const options = { id, model: "delta-5.3", storage, throttleMs: 0 } as ChatStoreOptions;
  const chat = createChatStore(client, options);
  chat.subscribe(() => {});
  return { chat, cut: () => connections.at(-1)?.abort() };
}

type Page = ReturnType<typeof page>;

function shows({ chat }: Page, content: string): Promise<void> {
  return until({ chat } as Page, () => chat.getSnapshot().messages.at(-1)?.content === content);
}

function ends(shown: Page): Promise<void> {
  return until(shown, () => shown.chat.getSnapshot().messages.at(-1)?.outcome !== undefined);
}

function until({ chat }: Page, isReached: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isReached()) return;
      leave();
      resolve();
    };
    const leave = chat.subscribe(check);
    check();
  });
}

/** The records of a closed page, in a storage that no tab uses. */
async function left(storage: ChatStorage) {
  const id = `left-${Math.random()}`;
  const copy = memoryStorage();
  const records = () => storage.read("chat/a");
  await expect.poll(async () => JSON.stringify([...(await records()).values()])).toContain("streamId");
  await copy.write(`chat/${id}`, await records());
  return { storage: copy, id };
}

describe("a chat behind a proxy with logged streams", () => {
  test("continues after a cut, and the gateway gets one request", async () => {
    const { send } = begun(chunk("one "));
    const shown = page(memoryStorage());
    const turn = shown.chat.send("Hello");
    await shows(shown, "one ");
    shown.cut();
    send(chunk("two ") + chunk("three") + finish + done);
    expect(await turn).toMatchObject({ outcome: "complete", messages: [{}, { content: "one two three" }] });
    expect(proxy.upstream.requests).toHaveLength(1);
  });

  test("continues after a reload, and the gateway gets one request", async () => {
    const { send } = begun(chunk("one "));
    const storage = memoryStorage();
    const before = page(storage);
    void before.chat.send("Hello");
    await shows(before, "one ");
    const stored = await left(storage);
    const after = page(stored.storage, stored.id);
    await shows(after, "one ");
    send(chunk("two") + finish + done);
    await ends(after);
    expect(after.chat.getSnapshot()).toMatchObject({
      status: "ready",
      messages: [{ content: "Hello" }, { content: "one two", outcome: "complete" }],
    });
    expect(proxy.upstream.requests).toHaveLength(1);
  });

  test("stops at the gateway by stop()", async () => {
    begun(chunk("one "));
    const shown = page(memoryStorage());
    void shown.chat.send("Hello");
    await shows(shown, "one ");
    shown.chat.stop();
    expect(await proxy.upstream.requests[0]?.hungUp).toBe("hung up");
  });

  test("shows a response that the proxy lost as interrupted, and the gateway gets one request", async () => {
    begun(chunk("one "));
    const storage = memoryStorage();
    const before = page(storage);
    void before.chat.send("Hello");
    await shows(before, "one ");
    const stored = await left(storage);
    await proxy.kill();
    proxy.expireOwners();
    await proxy.start();
    const after = page(stored.storage, stored.id);
    await ends(after);
    expect(after.chat.getSnapshot().messages.at(-1)).toMatchObject({
      content: "one ",
      outcome: "truncated",
    });
    expect(proxy.upstream.requests).toHaveLength(1);
  });
});
