import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { readerOf } from "../../worker-proxy/test/support/event-stream.js";
import { chunk, done, finish } from "../../worker-proxy/test/support/upstream.js";
import { startDurableProxy } from "./support/workerd.js";

const body = JSON.stringify({
  model: "delta-5.3",
  stream: true,
  messages: [{ role: "user", content: "hi" }],
});
const chats = "/v1/chat/completions";
const events = { "content-type": "text/event-stream" };

/** A reader that leaves when its test ends: an answer that is not read to its end keeps its connection open. */
function readUntilTestEnds(response: Response) {
  const reader = readerOf(response);
  onTestFinished(() => reader.leave().catch(() => {}));
  return reader;
}

describe("a stream on a real host", () => {
  let proxy: Awaited<ReturnType<typeof startDurableProxy>>;
  beforeAll(async () => {
    proxy = await startDurableProxy();
  });
  afterAll(() => proxy.close());

  test("outlives its client", async () => {
    const { ask, upstream } = proxy;
    let send!: (text: string) => void;
    upstream.answers((response) => {
      response.writeHead(200, events).write(chunk("one"));
      send = (text) => response.write(text);
    });
    const client = new AbortController();
    const response = await ask(chats, { method: "POST", body, signal: client.signal });
    const path = `/v1/chat/streams/${response.headers.get("x-stream-id")}`;
    expect(await readUntilTestEnds(response).until("one")).toBe(`id: 1\n${chunk("one")}`);
    client.abort();
    const again = await ask(path, { headers: { "last-event-id": "1" } });
    send(chunk("two") + finish + done);
    expect(await readUntilTestEnds(again).until("[DONE]")).toBe(
      `id: 2\n${chunk("two")}id: 3\n${finish}id: 4\n${done}`,
    );
    expect(upstream.requests).toHaveLength(1);
  });

  test("is stopped by DELETE, and the gateway's connection is closed", async () => {
    const { ask, upstream } = proxy;
    upstream.answers((response) => response.writeHead(200, events).write(chunk("one")));
    const response = await ask(chats, { method: "POST", body });
    const path = `/v1/chat/streams/${response.headers.get("x-stream-id")}`;
    expect((await ask(path, { method: "DELETE" })).status).toBe(204);
    expect(await upstream.requests[0]?.hungUp).toBe("hung up");
    expect(await readUntilTestEnds(response).until("stream_stopped")).toContain("event: error");
  });

  test("counts its readers, also where their connections break", async () => {
    const { ask, upstream } = proxy;
    upstream.answers((response) => {
      response.writeHead(200, events);
      const alive = setInterval(() => response.write(chunk("on")), 100);
      response.on("close", () => clearInterval(alive));
    });
    const ended = new AbortController();
    onTestFinished(() => ended.abort());
    const { signal } = ended;
    const response = await ask(chats, { method: "POST", body, signal });
    const path = `/v1/chat/streams/${response.headers.get("x-stream-id")}`;
    const leaving = new AbortController();
    for (let nth = 2; nth <= 8; nth += 1)
      expect((await ask(path, { signal: leaving.signal })).status).toBe(200);
    expect((await ask(path, { signal })).status).toBe(429);
    leaving.abort();
    let again = await ask(path, { signal });
    await expect
      .poll(async () => {
        if (again.status === 429) again = await ask(path, { signal });
        return again.status;
      })
      .toBe(200);
    expect(await readUntilTestEnds(again).until("on")).toContain("id: 1\n");
    await ask(path, { method: "DELETE" });
  });

  test("is interrupted by a crash, and the request is not repeated", async () => {
    const { ask, kill, start, upstream } = proxy;
    let sent!: (text: string) => void;
    upstream.answers((response) => {
      sent = (text) => response.write(text);
      response
        .writeHead(200, events)
        .write(Array.from({ length: 10 }, (_, nth) => chunk(`${nth}.`)).join(""));
    });
    const headers = { "idempotency-key": "one-question" };
    const response = await ask(chats, { method: "POST", body, headers });
    const path = `/v1/chat/streams/${response.headers.get("x-stream-id")}`;
    const reader = readUntilTestEnds(response);
    await reader.until("9.");
    // it does not fit into the row of the others, which is written
    sent(chunk("large".repeat(299_950)));
    await reader.until("large");
    await kill();
    await start();
    for (const again of [await ask(path), await ask(chats, { method: "POST", body, headers })]) {
      const text = await readUntilTestEnds(again).until("never");
      expect(text).toContain(`id: 10\n${chunk("9.")}`);
      expect(text).toContain('"code":"stream_interrupted"');
      expect(text).not.toContain("[DONE]");
    }
    expect(upstream.requests).toHaveLength(1);
  });
});

test("a stream on a real host ends where the gateway falls silent", async () => {
  const { ask, upstream, close } = await startDurableProxy({ stallMs: 500 });
  onTestFinished(close);
  upstream.answers((response) => response.writeHead(200, events).write(chunk("one")));
  const response = await ask(chats, { method: "POST", body });
  expect(await readUntilTestEnds(response).until("never")).toContain("upstream_idle");
  expect(await upstream.requests[0]?.hungUp).toBe("hung up");
});
