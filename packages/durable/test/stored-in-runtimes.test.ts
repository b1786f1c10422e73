import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createTextReader } from "../../worker-proxy/test/support/event-stream.js";
import { chunk, done, finish } from "../../worker-proxy/test/support/upstream.js";
import { type RuntimeProxy, startProxy } from "./support/runtime-proxies.js";

const chats = "/v1/chat/completions";
const images = "/v1/images/generations";
const chat = { model: "delta-5.3", stream: true, messages: [{ role: "user", content: "hi" }] };
const image = { model: "gamma-image-5-0-260128", prompt: "a bird" };
const events = { "content-type": "text/event-stream" };
const json = { "content-type": "application/json" };

/** Returns a reader that leaves when its test ends: a response that is not read to its end keeps its connection open. */
function readUntilTestEnds(response: Response) {
  const reader = createTextReader(response);
  onTestFinished(() => reader.leave().catch(() => {}));
  return reader;
}

const readPath = (response: Response) => `/v1/chat/streams/${response.headers.get("x-stream-id")}`;

describe.each(["workerd", "Node"] as const)("in a process of %s", (runtime) => {
  let proxy: RuntimeProxy;
  beforeAll(async () => {
    proxy = await startProxy(runtime);
  });
  afterAll(() => proxy.close());

  describe("a stored stream", () => {
    test("goes on without its client", async () => {
      const { send, upstream } = proxy;
      let write!: (text: string) => void;
      upstream.respondWith((response) => {
        response.writeHead(200, events).write(chunk("one"));
        write = (text) => response.write(text);
      });
      const client = new AbortController();
      const response = await send("ann", chats, { body: chat, signal: client.signal });
      expect(await readUntilTestEnds(response).until("one")).toBe(`id: 1\n${chunk("one")}`);
      client.abort();
      const again = await send("ann", readPath(response), { headers: { "last-event-id": "1" } });
      write(chunk("two") + finish + done);
      expect(await readUntilTestEnds(again).until("[DONE]")).toBe(
        `id: 2\n${chunk("two")}id: 3\n${finish}id: 4\n${done}`,
      );
      const whole = await send("ann", readPath(response), { headers: { "last-event-id": "4" } });
      expect(whole.status).toBe(204);
      expect(upstream.requests).toHaveLength(1);
    });

    test("is stopped by DELETE, and the gateway's connection is closed", async () => {
      const { send, upstream } = proxy;
      upstream.respondWith((response) => response.writeHead(200, events).write(chunk("one")));
      const response = await send("ann", chats, { body: chat });
      expect((await send("ann", readPath(response), { method: "DELETE" })).status).toBe(204);
      expect(await upstream.requests[0]?.hungUp).toBe("hung up");
      expect(await readUntilTestEnds(response).until("stream_stopped")).toContain("event: error");
    });

    test("has eight readers at most, and does not count those whose connections broke", async () => {
      const { send, upstream } = proxy;
      upstream.respondWith((response) => {
        response.writeHead(200, events);
        const alive = setInterval(() => response.write(chunk("on")), 100);
        response.on("close", () => clearInterval(alive));
      });
      const ended = new AbortController();
      onTestFinished(() => ended.abort());
      const { signal } = ended;
      const path = readPath(await send("ann", chats, { body: chat, signal }));
      const leaving = new AbortController();
      for (let nth = 2; nth <= 8; nth += 1)
        expect((await send("ann", path, { signal: leaving.signal })).status).toBe(200);
      expect((await send("ann", path, { signal })).status).toBe(429);
      leaving.abort();
      let again = await send("ann", path, { signal });
      await expect
        .poll(async () => {
          if (again.status === 429) again = await send("ann", path, { signal });
          return again.status;
        })
        .toBe(200);
      expect(await readUntilTestEnds(again).until("on")).toContain("id: 1\n");
      await send("ann", path, { method: "DELETE" });
    });

    test("is interrupted by a crash behind its stored events, and its request is not sent again", async () => {
      const { send, kill, expireOwners, start, upstream } = proxy;
      let write!: (text: string) => void;
      upstream.respondWith((response) => {
        write = (text) => response.write(text);
        const first = Array.from({ length: 10 }, (_, nth) => chunk(`${nth}.`));
        response.writeHead(200, events).write(first.join(""));
      });
      const response = await send("ann", chats, { body: chat, key: "one-question" });
      const reader = readUntilTestEnds(response);
      await reader.until("9.");
      // so large that nothing more is read from the gateway before it is stored
      write(chunk("large".repeat(240_000)));
      await reader.until("id: 11\n");
      write(chunk("next"));
      await reader.until("id: 12\n");
      await kill();
      expireOwners();
      await start();
      for (const again of [
        await send("ann", readPath(response)),
        await send("ann", chats, { body: chat, key: "one-question" }),
      ]) {
        const text = await readUntilTestEnds(again).until("never");
        expect(text).toContain(`id: 10\n${chunk("9.")}`);
        expect(text).toContain('"code":"stream_interrupted"');
        expect(text).not.toContain("[DONE]");
      }
      expect(upstream.requests).toHaveLength(1);
    });
  });

  describe("a create with an idempotency-key", () => {
    const create = (key: string, init: { signal?: AbortSignal } = {}) =>
      proxy.send("ann", images, { body: image, key, ...init });

    test("is made to its end though its only client has left", async () => {
      const { upstream } = proxy;
      let respond!: () => void;
      upstream.respondWith((response) => {
        respond = () => response.writeHead(200, json).end('{"data":[]}');
      });
      const client = new AbortController();
      const left = create("left", { signal: client.signal }).catch(() => "left");
      await upstream.arrived();
      client.abort();
      expect(await left).toBe("left");
      const again = create("left");
      respond();
      expect(await (await again).json()).toEqual({ data: [] });
      expect(upstream.requests).toHaveLength(1);
    });

    test("has its response after the process was killed", async () => {
      const { restart, upstream } = proxy;
      upstream.respondWith((response) => response.writeHead(200, json).end('{"data":[1]}'));
      expect((await create("stored")).status).toBe(200);
      await restart();
      expect(await (await create("stored")).json()).toEqual({ data: [1] });
      expect(upstream.requests).toHaveLength(1);
    });

    test("is not sent again if the gateway cuts the connection", async () => {
      const { upstream } = proxy;
      upstream.respondWith((response) => response.destroy());
      for (let nth = 0; nth < 2; nth += 1) expect((await create("cut")).status).toBe(502);
      expect(upstream.requests).toHaveLength(1);
    });
  });
});
