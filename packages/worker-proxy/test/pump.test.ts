import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { chat, startProxy, user } from "./support/harness.js";
import { chunk, done, finish, reply } from "./support/upstream.js";

/* Streams that the proxy does not have to read: no meter, no stored streams, no `readStreams()`. */

let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeAll(async () => {
  proxy = await startProxy();
});
afterAll(() => proxy.close());
afterEach(() => proxy.forget());

const events = { "content-type": "text/event-stream" };
const streamed = { ...chat, stream: true };
/** Opens a proxy with a limit for the duration of a response. */
async function impatient(totalMs: number) {
  const own = await startProxy({ options: { timeout: { totalMs } } });
  onTestFinished(() => own.close());
  return own;
}
const many = Array.from({ length: 2000 }, (_, n) => chunk(String(n))).join("");

test("a stream passes unchanged, and gives one event without usage and size", async () => {
  const text = many + finish + done;
  proxy.upstream.respondWith(reply(200, events, text));
  expect((await proxy.call(streamed)).text).toBe(text);
  const [event] = await proxy.events(1);
  expect(event).toMatchObject({ status: 200, outcome: "complete", firstByteMs: expect.any(Number) });
  expect(event).not.toHaveProperty("code");
  expect(event).not.toHaveProperty("bytes");
});

test.each([
  ["whose connection is closed between two chunks", (end: () => void) => end()],
  ["whose connection is reset", (_: () => void, reset: () => void) => reset()],
])("a stream %s ends in an error event (case 40)", async (_, cut) => {
  proxy.upstream.respondWith((response) => {
    const { socket } = response;
    response.writeHead(200, events);
    response.write(many, () =>
      cut(
        () => socket?.end(),
        () => socket?.resetAndDestroy(),
      ),
    );
  });
  const { text } = await proxy.call(streamed);
  expect(text).toMatch(/\n\nevent: error\ndata: .*"code":"upstream_cut"\}\}\n\n$/);
  expect(await proxy.events(1)).toMatchObject([{ status: 200, code: "upstream_cut", outcome: "truncated" }]);
});

test("a stream that is shorter than its content-length ends in an error event (case 40)", async () => {
  proxy.upstream.respondWith((response) => {
    response.writeHead(200, { ...events, "content-length": String(many.length + 100) });
    response.write(many, () => response.socket?.end());
  });
  expect((await proxy.call(streamed)).text).toMatch(/"code":"upstream_cut"\}\}\n\n$/);
});

test("a stream that ends without [DONE] is passed on as it is: the client notices", async () => {
  proxy.upstream.respondWith(reply(200, events, many));
  expect((await proxy.call(streamed)).text).toBe(many);
});

test("the connection of a response that ends soon after [DONE] is used for the next request", async () => {
  const sockets = new Set<unknown>();
  proxy.upstream.respondWith((response) => {
    sockets.add(response.socket);
    response.writeHead(200, events).write(chunk("a") + finish + done);
    setTimeout(() => response.end(), 20);
  });
  for (let times = 0; times < 3; times += 1) await proxy.call(streamed);
  expect(sockets.size).toBe(1);
});

test("a gateway that stays connected after [DONE] delays only the end", async () => {
  const text = chunk("a") + finish + done;
  proxy.upstream.respondWith((response) => void response.writeHead(200, events).write(text));
  expect((await proxy.call(streamed)).text).toBe(text);
  expect(await proxy.upstream.requests[0]?.hungUp).toBe("hung up");
  const [event] = await proxy.events(1);
  expect(event).toMatchObject({ status: 200, outcome: "complete" });
  expect(event).not.toHaveProperty("code");
});

test("a client that leaves ends the gateway's connection, and gives one event with 499 (case 41)", async () => {
  proxy.upstream.respondWith((response) => {
    response.writeHead(200, events).write(chunk("a"));
    const more = setInterval(() => response.write(chunk("b")), 20);
    response.on("close", () => clearInterval(more));
  });
  const client = new AbortController();
  const response = await proxy.send(streamed, { signal: client.signal });
  await response.body?.getReader().read();
  client.abort();
  expect(await proxy.upstream.requests[0]?.hungUp).toBe("hung up");
  expect(await proxy.events(1)).toMatchObject([
    { status: 499, code: "client_left", outcome: "disconnected" },
  ]);
});

test("a silent gateway is bounded by totalMs", async () => {
  const own = await impatient(400);
  own.upstream.respondWith((response) => void response.writeHead(200, events).write(chunk("a")));
  expect((await own.call(streamed)).text).toMatch(/"code":"upstream_timeout"\}\}\n\n$/);
  expect(await own.upstream.requests[0]?.hungUp).toBe("hung up");
});

test("a client that reads nothing holds the gateway's connection for totalMs at most (case 58)", async () => {
  const own = await impatient(400);
  own.upstream.respondWith((response) => {
    response.writeHead(200, events);
    const more = () => {
      while (!response.destroyed && response.write(many)) {}
    };
    response.on("drain", more);
    more();
  });
  const body = JSON.stringify(streamed);
  const socket = connect(Number(own.url.port), own.url.hostname).pause();
  await once(socket, "connect");
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: ${own.url.host}\r\nAuthorization: ${user.authorization}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await own.upstream.arrived();
  expect(await own.upstream.requests[0]?.hungUp).toBe("hung up");
  expect(await own.events(1)).toMatchObject([{ code: "upstream_timeout" }]);
  socket.destroy();
});
