import { type ClientOptions, createClient, generateImages, standardFetch, streamChat } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { type Served, serve } from "@sluice/emulator/serve";
import { createChatStore } from "@sluice/stores";
import { Window } from "happy-dom";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fetch as fetchOnXHR } from "whatwg-fetch";

/*
 * The `fetch` of React Native is the package `whatwg-fetch` on XMLHttpRequest: its responses have no `body` and arrive
 * only when they are complete. Here it uses happy-dom's XMLHttpRequest and a socket to the emulator.
 */

const emulator = createEmulator({ cors: true, speed: Number.POSITIVE_INFINITY });
let gateway: Served;
let page: Window;

beforeEach(async () => {
  gateway = await serve(emulator, { port: 0 });
  page = new Window({ url: gateway.url });
  vi.stubGlobal("XMLHttpRequest", page.XMLHttpRequest);
});

afterEach(async () => {
  vi.unstubAllGlobals();
  await page.happyDOM.close();
  await gateway.close();
});

/** Sends with the `fetch` of React Native. The globals stay Node's, because the emulator needs them. */
async function nativeFetch(request: Request): Promise<Response> {
  const { url, method, signal } = request;
  const headers = Object.fromEntries(request.headers);
  return fetchOnXHR(url, { method, headers, signal, body: await request.text() });
}

const question = (content: string) =>
  ({ model: "delta-5.3", messages: [{ role: "user", content }] }) as const;

function createTestClient(options: Partial<ClientOptions> = {}) {
  const rules: string[] = [];
  const client = createClient({
    baseURL: gateway.url,
    fetch: standardFetch(nativeFetch),
    random: () => 0,
    onEvent: (event) => event.type === "warning" && rules.push(event.issue.rule ?? ""),
    ...options,
  });
  return { client, rules };
}

/** Counts the requests to the gateway that contain a text. */
function countRequests(text: string): number {
  return emulator.requests.filter(({ body }) => JSON.stringify(body).includes(text)).length;
}

describe("with React Native's own fetch", () => {
  test("a response is complete", async () => {
    const { client } = createTestClient();
    const store = createChatStore(client, { model: "delta-5.3" });
    const { outcome, messages } = await store.send("Tell me of rivers");
    expect([outcome, messages.at(-1)?.outcome]).toEqual(["complete", "complete"]);
    expect(messages.at(-1)?.content.length).toBeGreaterThan(20);
    expect(store.getSnapshot().status).toBe("ready");
  });

  test("a response can't be read without standardFetch, and the error names it", async () => {
    const { client } = createTestClient({ fetch: nativeFetch });
    await expect(streamChat(client, question("Tell me of dams")).result()).rejects.toMatchObject({
      name: "ConnectionError",
      billing: "maybe",
      message: expect.stringContaining("standardFetch(fetch)"),
    });
  });

  test("a response that the gateway cuts is an error", async () => {
    const stream = streamChat(createTestClient().client, question("Tell me of lakes [[truncate]]"));
    await expect(stream.result()).rejects.toMatchObject({
      name: "StreamError",
      reason: "truncated",
      partial: { content: expect.stringMatching(/./) },
    });
  });

  test("a connection that is lost within a response counts as no response, and the chat is requested again", async () => {
    for (const [limit, sea] of ["Baltic", "Aral"].entries()) {
      const { client } = createTestClient({ retry: { limit } });
      const stream = streamChat(client, question(`Tell me of the ${sea} [[drop]]`));
      await expect(stream.result()).rejects.toMatchObject({ name: "ConnectionError", billing: "maybe" });
      expect(countRequests(sea)).toBe(1 + limit);
    }
  });

  test("stop() ends a response that has not come", async () => {
    const store = createChatStore(createTestClient().client, { model: "delta-5.3" });
    const turn = store.send("Tell me of tides [[stall]]");
    await vi.waitUntil(() => countRequests("Tell me of tides") === 1, { timeout: 15_000 });
    store.stop();
    const { outcome, messages } = await turn;
    expect([outcome, messages.at(-1)?.content]).toEqual(["stopped", ""]);
  });

  test("a response that does not come in time ends with an error that names the limit", async () => {
    const { client } = createTestClient({ timeout: { firstChunkMs: 300 }, retry: { limit: 0 } });
    const stream = streamChat(client, question("Tell me of ice [[stall]]"));
    await expect(stream.result()).rejects.toMatchObject({
      name: "TimeoutError",
      phase: "first-chunk",
      message: expect.stringContaining("timeout.firstChunkMs"),
    });
  });

  test("a refusal has its status, and images are made", async () => {
    const { client } = createTestClient({ retry: { limit: 0 } });
    await expect(streamChat(client, question("Tell me of wells [[429]]")).result()).rejects.toMatchObject({
      name: "APIError",
      status: 429,
    });
    const { images } = await generateImages(client, {
      model: "gamma-image-4-0-250828",
      prompt: "A lock on a canal",
      size: "1024x1024",
    });
    expect(images[0]?.url).toMatch(/^http/);
  });
});

describe("with the wrapper of the guide", () => {
  test("a response is streamed by a fetch that takes no Request", async () => {
    /** Has the parameters of `fetch` of `expo/fetch`. */
    const expoFetch = (url: string, init: RequestInit) => fetch(url, init);
    const { client, rules } = createTestClient({
      fetch: async (request) => {
        const { url, method, headers, signal } = request;
        return expoFetch(url, {
          method,
          headers,
          signal,
          body: method === "GET" ? null : await request.text(),
        });
      },
    });
    const stream = streamChat(client, question("Tell me of springs"));
    const pieces: string[] = [];
    for await (const delta of stream) if (delta.type === "text-delta") pieces.push(delta.text);
    expect((await stream.result()).message.content).toBe(pieces.join(""));
    expect(pieces.length).toBeGreaterThan(3);
    expect(rules).toEqual([]);
  });
});
