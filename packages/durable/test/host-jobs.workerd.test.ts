import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { hashText } from "@sluice/worker-proxy/plugin";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createTextReader } from "../../worker-proxy/test/support/event-stream.js";
import proxy, { type HostEnv } from "./fixture/host-worker.js";
import { gateway } from "./support/durable-gateway.js";

const { SLUICE } = env as unknown as { readonly SLUICE: TestNamespace };
type Act = (controller: ReadableStreamDefaultController<Uint8Array>) => void;

const EVENTS = { "content-type": "text/event-stream", "x-request-id": "gateway-1" };
const piece = (text: string) => `data: {"choices":[{"delta":{"content":"${text}"}}]}\n\n`;
const end = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const numbered = (events: readonly string[], first = 1) =>
  events.map((event, nth) => `id: ${first + nth}\n${event}`).join("");
const chat = { model: "delta-5.3", stream: true, messages: [{ role: "user", content: "hi" }] };
const videoRequest = { model: "beta3.0-video", input: { prompt: "a bird" } };
const turn = () => new Promise((resolve) => setTimeout(resolve, 1));
const readCode = async (response: Response) =>
  ((await response.json()) as { error: { code: string } }).error.code;

let users = 0;
let user = "";

beforeEach(() => {
  user = `jobs-${++users}`;
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});

interface SendInit extends Pick<RequestInit, "method" | "signal"> {
  readonly body?: object;
  readonly key?: string;
  readonly after?: number;
}

function send(path: string, { body, key, after, signal, method }: SendInit = {}): Promise<Response> {
  const request = new Request(`https://proxy.example${path}`, {
    method: method ?? (body ? "POST" : "GET"),
    headers: {
      authorization: user,
      "content-type": "application/json",
      ...(key !== undefined && { "idempotency-key": key }),
      ...(after !== undefined && { "last-event-id": String(after) }),
    },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  return proxy.fetch(request, env as unknown as HostEnv);
}

const request = (more: SendInit = {}) => send("/v1/chat/completions", { body: chat, ...more });
const create = (key: string) => send("/v1/video/generations", { body: videoRequest, key });
const resume = (id: string, after?: number) =>
  send(`/v1/chat/streams/${id}`, after === undefined ? {} : { after });
const stop = (id: string) => send(`/v1/chat/streams/${id}`, { method: "DELETE" });
const readStreamId = (response: Response) => response.headers.get("x-stream-id") ?? "";

/** The object of the user. */
const getObject = async () => SLUICE.get(SLUICE.idFromName(`user:${await hashText(user)}`));

/** Ends the object as a crash does, and lets its jobs have been silent for too long. */
async function lose(): Promise<void> {
  const abort = (_: unknown, state: object) => (state as { abort(reason: string): void }).abort("lost");
  await runInDurableObject(await getObject(), abort).catch(() => {});
  await runInDurableObject(await getObject(), (_, { storage }) => {
    storage.sql.exec("UPDATE jobs SET alive_until = 0 WHERE expires_at IS NULL");
  });
}

/** Lets the gateway respond with a stream that the test sends. The object makes what it reads. */
function streamLive() {
  const acts: Act[] = [];
  let hasLeft = false;
  gateway.respondWith(({ signal }) => {
    signal.addEventListener("abort", () => {
      hasLeft = true;
    });
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers: EVENTS });
  });
  return {
    send: (text: string) => acts.push((controller) => controller.enqueue(new TextEncoder().encode(text))),
    end: () => acts.push((controller) => controller.close()),
    get hasLeft() {
      return hasLeft;
    },
  };

  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (acts.length === 0 && !hasLeft) await turn();
    acts.shift()?.(controller);
  }
}

describe("a stream in a Durable Object", () => {
  test("resumes while it comes and after its end, and outlives its client", async () => {
    const live = streamLive();
    const client = new AbortController();
    const response = await request({ signal: client.signal, key: "one" });
    const id = readStreamId(response);
    live.send(piece("a") + piece("b"));
    await createTextReader(response).until('"b"');
    client.abort();
    const rest = await resume(id, 1);
    const again = await request({ key: "one" });
    live.send(end);
    live.end();
    const whole = await again.text();
    expect(whole.startsWith(numbered([piece("a"), piece("b")]))).toBe(true);
    expect(whole).toContain("[DONE]");
    expect(numbered([piece("a")]) + (await rest.text())).toBe(whole);
    expect(await (await resume(id)).text()).toBe(whole);
    expect((await resume(id, 4)).status).toBe(204);
    expect(gateway.requests).toHaveLength(1);
  });

  test("is stopped by DELETE, at the gateway too", async () => {
    const live = streamLive();
    const response = await request();
    live.send(piece("a"));
    const reader = createTextReader(response);
    await reader.until("a");
    expect((await stop(readStreamId(response))).status).toBe(204);
    expect(await reader.until("stream_stopped")).toContain("event: error");
    await expect.poll(() => live.hasLeft).toBe(true);
  });

  test("ends as interrupted once its object is gone, and is never sent again (case 115)", async () => {
    const live = streamLive();
    const response = await request({ key: "one" });
    const large = piece("large".repeat(60_000));
    live.send(piece("a") + large);
    await createTextReader(response).until("id: 2\n");
    const parts = async () =>
      runInDurableObject(await getObject(), (_, { storage }) =>
        storage.sql.exec("SELECT last_id FROM job_parts").toArray(),
      );
    await expect.poll(parts).toEqual([{ last_id: 2 }]);
    await lose();
    for (const again of [await resume(readStreamId(response)), await request({ key: "one" })]) {
      const text = await again.text();
      expect(text.startsWith(numbered([piece("a"), large]))).toBe(true);
      expect(text).toContain('"code":"stream_interrupted"');
    }
    expect(gateway.requests).toHaveLength(1);
  });
});

describe("a create in a Durable Object (cases 100, 102)", () => {
  test("is sent once, however many come, and has its response when they come again", async () => {
    gateway.respondWith(async () => {
      await turn();
      return Response.json({ id: "t-1", status: "queued" }, { headers: { "x-request-id": "gateway-1" } });
    });
    const texts = await Promise.all([1, 2, 3].map(async () => (await create("one")).text()));
    expect(new Set(texts).size).toBe(1);
    const again = await create("one");
    expect([again.status, await again.text()]).toEqual([200, texts[0]]);
    expect(gateway.requests).toHaveLength(1);
  });

  test("is never sent again once its object is gone", async () => {
    gateway.respondWith(async ({ signal }) => {
      while (!signal.aborted) await turn();
      throw signal.reason;
    });
    void create("one").catch(() => {});
    await expect.poll(() => gateway.requests.length).toBe(1);
    await lose();
    for (let nth = 0; nth < 2; nth += 1) {
      const response = await create("one");
      expect([response.status, await readCode(response)]).toEqual([502, "request_lost"]);
    }
    expect(gateway.requests).toHaveLength(1);
  });
});
