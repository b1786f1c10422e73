import { createClient, defineTool, streamResumption } from "@sluice/core";
import {
  type ChatStorage,
  type ChatStoreOptions,
  type ChatTurn,
  createChatStore,
  memoryStorage,
} from "@sluice/stores";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startDurableProxy } from "../../packages/durable/test/support/workerd.js";
import { chunk, done, finish, reply } from "../../packages/worker-proxy/test/support/upstream.js";
import { createTestClock } from "../support/test-clock.ts";

let proxy: Awaited<ReturnType<typeof startDurableProxy>>;
beforeAll(async () => {
  proxy = await startDurableProxy();
});
afterAll(() => proxy.close());

const stream = { "content-type": "text/event-stream" };
beforeEach(() => proxy.upstream.respondWith(reply(200, stream, chunk("one answer") + finish + done)));

/** Fault of a connection: the response is lost before its headers, or the page is killed after the request. */
type Fault = "lose" | "kill" | undefined;
type Options = Partial<ChatStoreOptions> & { faults?: Fault[]; retries?: number };

/** Opens a page in front of the proxy. Its next connections have the given faults. */
function page(storage: ChatStorage, { faults = [], retries = 0, ...options }: Options = {}) {
  let die: () => void = () => {};
  const killed = new Promise<void>((resolve) => {
    die = resolve;
  });
  const client = createClient({
    baseURL: proxy.address,
    resume: streamResumption(),
    headers: { authorization: "user-1" },
    random: () => 0,
    clock: createTestClock(50),
    retry: { limit: retries },
    async fetch(sent) {
      const fault = sent.method === "POST" ? faults.shift() : undefined;
      const response = await fetch(sent);
      if (fault === "lose") {
        await response.body?.cancel();
        throw new TypeError("fetch failed");
      }
      if (fault !== "kill") return response;
      die();
      return new Promise<Response>(() => {});
    },
  });
  const shown = { id: "a", model: "delta-5.3", storage, throttleMs: 0, ...options };
  const chat = createChatStore(client, shown as ChatStoreOptions);
  chat.subscribe(() => {});
  return { chat, killed, send: () => chat.send("Hello"), retry: () => chat.retry() };
}

/** Opens the stored chat of a killed page under a new id, so that no page holds its lock. */
async function reopened(storage: ChatStorage) {
  const copy = memoryStorage();
  const id = `left-${Math.random()}`;
  await copy.write(`chat/${id}`, await storage.read("chat/a"));
  return page(copy, { id });
}

const readContent = ({ messages }: ChatTurn) => messages.at(-1)?.content;
const bills = () => proxy.upstream.requests.length;

describe("a stored response that is lost before its headers", () => {
  test("comes by the automatic retry, and the gateway gets one request", async () => {
    const turn = await page(memoryStorage(), { faults: ["lose", "lose"], retries: 2 }).send();
    expect([turn.outcome, readContent(turn), bills()]).toEqual(["complete", "one answer", 1]);
  });

  test("comes by a retry after each loss, and the gateway gets one request", async () => {
    const { send, retry } = page(memoryStorage(), { faults: ["lose", "lose"] });
    expect(await send()).toMatchObject({ outcome: "error", error: { billing: "maybe" } });
    expect(await retry()).toMatchObject({ outcome: "error" });
    const turn = await retry();
    expect([turn.outcome, readContent(turn), bills()]).toEqual(["complete", "one answer", 1]);
  });

  test("comes by retry after a reload, and the gateway gets one request", async () => {
    const storage = memoryStorage();
    const { chat, send } = page(storage, { faults: ["lose"] });
    await send();
    chat.close();
    const turn = await page(storage).retry();
    expect([turn.outcome, readContent(turn), bills()]).toEqual(["complete", "one answer", 1]);
  });

  test("comes by retry after the page was killed, and the gateway gets one request", async () => {
    const storage = memoryStorage();
    const { killed, send } = page(storage, { faults: ["kill"] });
    void send();
    await killed;
    const turn = await (await reopened(storage)).retry();
    expect([turn.outcome, readContent(turn), bills()]).toEqual(["complete", "one answer", 1]);
  });

  test("comes in a second tab, and the gateway gets one request", async () => {
    const storage = memoryStorage();
    await page(storage, { faults: ["lose"] }).send();
    const turn = await page(storage).retry();
    expect([turn.outcome, readContent(turn), bills()]).toEqual(["complete", "one answer", 1]);
  });

  test("comes where two tabs retry it at once, and the gateway gets one request", async () => {
    const storage = memoryStorage();
    const first = page(storage, { faults: ["lose"] });
    await first.send();
    const second = page(storage);
    const turns = await Promise.all([first.retry(), second.retry()]);
    expect(turns.map(readContent)).toContain("one answer");
    expect(bills()).toBe(1);
  });

  test("comes after the user had to sign in again, and the gateway gets one request", async () => {
    let session: string | undefined = "user-1";
    const headers = () => ({ authorization: session ?? "" });
    const client = createClient({
      baseURL: proxy.address,
      resume: streamResumption(),
      headers,
      retry: { limit: 0 },
      fetch: losing(1),
    });
    const chat = createChatStore(client, { model: "delta-5.3" });
    await chat.send("Hello");
    session = undefined;
    expect(await chat.retry()).toMatchObject({ error: { status: 401 } });
    session = "user-1";
    expect([readContent(await chat.retry()), bills()]).toEqual(["one answer", 1]);
  });

  test("comes for the step of a tool call, too, and the gateway gets one request for each step", async () => {
    const call =
      '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c-1","function":{"name":"look","arguments":"{}"}}]}}]}';
    const calling = `data: ${call}\n\ndata: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\n${done}`;
    proxy.upstream.respondWith((response, { body }) =>
      reply(
        200,
        stream,
        body.includes('"tool"') ? chunk("one answer") + finish + done : calling,
      )(response, {} as never),
    );
    const look = defineTool({ name: "look", inputSchema: { type: "object" }, execute: () => "seen" });
    const { send, retry } = page(memoryStorage(), {
      faults: [undefined, "lose"],
      tools: [look],
      model: "alpha-v4.1-flash",
    } as Options);
    await send();
    const turn = await retry();
    expect([turn.outcome, readContent(turn), bills()]).toEqual(["complete", "one answer", 2]);
  });
});

describe("a new request after a first request whose end is known", () => {
  test("is made after an error of the gateway", async () => {
    proxy.upstream.respondWith(reply(504, { "content-type": "application/json" }, "{}"));
    const { send, retry } = page(memoryStorage());
    expect(await send()).toMatchObject({ outcome: "error" });
    proxy.upstream.respondWith(reply(200, stream, chunk("another") + finish + done));
    expect([readContent(await retry()), bills()]).toEqual(["another", 1]);
  });

  test("is made by regenerate", async () => {
    const { chat, send } = page(memoryStorage(), { faults: ["lose"] });
    await send();
    await chat.regenerate();
    expect(bills()).toBe(2);
  });

  test("is made after the user has stopped the response", async () => {
    const { chat, killed, send, retry } = page(memoryStorage(), { faults: ["kill"] });
    const turn = send();
    await killed;
    chat.stop();
    expect((await turn).outcome).toBe("stopped");
    expect([(await retry()).outcome, bills()]).toEqual(["complete", 2]);
  });

  test("is made by the second retry with other options, after the first retry reported that nothing was sent", async () => {
    const storage = memoryStorage();
    const { chat, send } = page(storage, { faults: ["lose"] });
    await send();
    chat.close();
    const { retry } = page(storage, { params: { temperature: 0.5 } } as Options);
    expect(await retry()).toMatchObject({
      error: { status: 422, code: "idempotency_mismatch", billing: "none" },
    });
    expect(bills()).toBe(1);
    expect([readContent(await retry()), bills()]).toEqual(["one answer", 2]);
  });
});

/** A network that loses the first responses before their headers. */
function losing(count: number) {
  let lost = 0;
  return async (request: Request) => {
    const response = await fetch(request);
    if (++lost > count) return response;
    await response.body?.cancel();
    throw new TypeError("fetch failed");
  };
}
