import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CHATS, chat, IMAGES, startAttacked, stream, streamPlans, VIDEOS } from "./support/attacked.js";
import { createTextReader } from "./support/event-stream.js";
import {
  createPiece,
  createResponse,
  done,
  json,
  reply,
  stopped,
  streamed,
  streamHead,
} from "./support/raw-gateway.js";

type Proxy = Awaited<ReturnType<typeof startAttacked>>;

/** The event that ends a stream that broke off. In a stored stream it has an id. */
const CUT = /(?:^|\n\n)(?:id: \d+\n)?event: error\ndata: \{.*"upstream_cut"/;
const ERROR = /(?:^|\n\n)(?:id: \d+\n)?event: error\ndata: \{/;

const read = streamPlans.slice(1);

const chunkedHead =
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

describe.each(streamPlans)("a stream %s", (_, plan) => {
  let proxy: Proxy;
  beforeAll(async () => {
    proxy = await startAttacked({ plan });
  });
  afterAll(() => proxy.close());

  /** Responds with these chunks, and resets the connection once the client has `last` of them. */
  async function cutAfter(last: string, chunks: readonly string[]): Promise<string> {
    let cut = () => {};
    proxy.upstream.respondWith((socket) => {
      socket.write(chunkedHead + chunks.map(chunk).join(""));
      cut = () => socket.resetAndDestroy();
    });
    const reader = createTextReader(await proxy.send("ada", stream));
    expect(await reader.until(last)).toContain(last);
    cut();
    return reader.until("never");
  }

  test.each([
    ["after an event", createPiece("one")],
    ["in an event", `${createPiece("one")}data: {"choices":[{"del`],
  ])("ends in an error event if it is cut %s (case 40)", async (_where, text) => {
    const response = await cutAfter("one", [text]);
    expect(response).toMatch(CUT);
    expect(response).not.toContain("[DONE]");
  });

  test("ends in an error event if it is cut before the first event (case 40)", async () => {
    let cut = () => {};
    proxy.upstream.respondWith((socket) => {
      socket.write(chunkedHead);
      cut = () => socket.resetAndDestroy();
    });
    const response = await proxy.send("ada", stream);
    cut();
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toMatch(CUT);
    expect(text).not.toContain("[DONE]");
  });

  test.each([
    [
      "whose chunks have an empty finish reason",
      [createPiece("one").replace("null", '""'), createPiece("last").replace("null", '""')],
    ],
    [
      "of two choices, of which one is finished",
      [createPiece("one"), createPiece("other", 1), stopped(0), createPiece("last", 1)],
    ],
  ])("%s and that is cut ends in an error event (case 60)", async (_what, events) => {
    expect(await cutAfter("last", events)).toMatch(CUT);
  });

  test("is passed on at once if its lines end in CR alone (case 64)", async () => {
    let goOn = () => {};
    proxy.upstream.respondWith((socket) => {
      socket.write(
        streamHead + createPiece("one").replaceAll("\n", "\r") + createPiece("two").replaceAll("\n", "\r"),
      );
      goOn = () => socket.end((stopped() + done).replaceAll("\n", "\r"));
    });
    const reader = createTextReader(await proxy.send("ada", stream));
    expect(await reader.until("one")).toContain("one");
    goOn();
    const text = await reader.until("never");
    expect(text).toContain("[DONE]");
    expect(text).not.toContain("event: error");
  });

  test("arrives whole if it is sent byte by byte (case 43)", async () => {
    const bytes = Buffer.from(createPiece("é🚀") + stopped() + done);
    proxy.upstream.respondWith((socket) => {
      socket.setNoDelay(true).write(streamHead);
      const next = (at: number) => {
        if (at === bytes.length) return void socket.end();
        socket.write(bytes.subarray(at, at + 1), () => setImmediate(next, at + 1));
      };
      next(0);
    });
    const { text } = await proxy.call("ada", stream);
    expect(text.replace(/^id: \d+\n/gm, "")).toBe(bytes.toString());
  });

  test.each([
    ["a page", createResponse(200, "text/html", "<h1>hi</h1>")],
    ["a page that is called JSON", createResponse(200, "application/json", "<h1>hi</h1>")],
    ["no HTTP", "+OK POP3 ready\r\n"],
    ["nothing", ""],
  ])("becomes a 502 if the gateway sends %s instead (case 61)", async (_what, response) => {
    proxy.upstream.respondWith(reply(response));
    expect((await proxy.call("ada", stream)).status).toBe(502);
  });
});

describe("a stream passed on unread", () => {
  test("has the blank line of its end, also if that comes late (case 43)", async () => {
    const proxy = await startAttacked({ plan: {} });
    onTestFinished(() => proxy.close());
    let goOn = () => {};
    proxy.upstream.respondWith((socket) => {
      socket.write(streamHead + (createPiece("one") + stopped() + done).slice(0, -1));
      goOn = () => socket.end("\n");
    });
    const reader = createTextReader(await proxy.send("ada", stream));
    await reader.until("[DONE]");
    goOn();
    expect(await reader.until("never")).toMatch(/data: \[DONE\]\n\n$/);
  });
});

describe.each(read)("a stream %s", (_, plan) => {
  let proxy: Proxy;
  /** Ends a stream of the gateway without progress for 300 ms. A busy machine needs longer to close connections. */
  let impatient: Proxy;
  beforeAll(async () => {
    [proxy, impatient] = await Promise.all([startAttacked({ plan }), startAttacked({ plan, chunkMs: 300 })]);
  });
  afterAll(() => Promise.all([proxy.close(), impatient.close()]));

  test.each([
    ["with nothing", [createPiece("one")]],
    ["with an empty finish reason", [createPiece("one").replace("null", '""')]],
    ["with one of two choices finished", [createPiece("one"), createPiece("other", 1), stopped(0)]],
    ["within the last line", [createPiece("one"), 'data: {"choices":[],"usage":{"total_to']],
  ])("is incomplete if its connection ends %s (case 60)", async (_what, events) => {
    proxy.upstream.respondWith(streamed(...events));
    const { text } = await proxy.call("ada", stream);
    expect(text).toMatch(CUT);
    expect(text).not.toContain("[DONE]");
  });

  test("drops a broken line after its end (case 60)", async () => {
    proxy.upstream.respondWith(
      streamed(createPiece("one"), stopped(), 'data: {"choices":[],"usage":{"total_to'),
    );
    expect((await proxy.call("ada", stream)).text).not.toContain("total_to");
  });

  test("ends in an error event if only heartbeats come (case 67)", async () => {
    impatient.upstream.respondWith((socket, { closed }) => {
      socket.write(streamHead + createPiece("one"));
      const alive = setInterval(() => socket.write(": alive\n\n"), 50);
      closed.then(() => clearInterval(alive));
    });
    const { text } = await impatient.call("ada", stream);
    expect(text).toMatch(ERROR);
    await impatient.upstream.requests[0]?.closed;
  });

  test("ends in an error event if only empty chunks come (case 67)", async () => {
    impatient.upstream.respondWith((socket, { closed }) => {
      socket.write(streamHead + createPiece("one"));
      const alive = setInterval(() => socket.write(createPiece("")), 50);
      closed.then(() => clearInterval(alive));
    });
    const { text } = await impatient.call("ada", stream);
    expect(text).toMatch(ERROR);
    await impatient.upstream.requests[0]?.closed;
  });
});

describe("a response without a stream", () => {
  let proxy: Proxy;
  beforeAll(async () => {
    proxy = await startAttacked({
      options: {
        routes: ["chat", "images", "videos"],
        models: ["delta-5.3", "gamma-image-5-0-260128", "beta3.0-video"],
      },
    });
  });
  afterAll(() => proxy.close());

  const whole = '{"id":"1","choices":[{"message":{"content":"a"}}],"data":[]}';
  const closing = (body: string | Buffer, more = "") =>
    Buffer.concat([
      Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${more}Connection: close\r\n\r\n`),
      Buffer.from(body),
    ]);
  const wrong: readonly [string, string | Buffer][] = [
    ["is cut and framed by its connection", closing(whole.slice(0, 30))],
    ["is shorter than its length says", json(whole).replace(/Length: \d+/, "Length: 500")],
    ["is longer than its length says", json(whole).replace(/Length: \d+/, "Length: 20")],
    ["is a page", closing("<!doctype html><h1>Bad gateway</h1>")],
    ["is empty", closing("")],
    ["claims to be gzip but is not", closing(whole, "Content-Encoding: gzip\r\n")],
    ["is followed by a second response", closing(`${whole}{"id":"2"}`)],
  ];
  test.each(wrong)("becomes a 502 if it %s (case 61)", async (_, response) => {
    proxy.upstream.respondWith(reply(response));
    for (const [path, body] of [
      [CHATS, chat],
      [IMAGES, { model: "gamma-image-5-0-260128", prompt: "a" }],
      [VIDEOS, { model: "beta3.0-video", input: { prompt: "a" } }],
    ] as const)
      expect([path, (await proxy.call("ada", body, { path })).status]).toEqual([path, 502]);
  });

  test("passes with whitespace around its JSON (case 61)", async () => {
    proxy.upstream.respondWith(reply(json(` \r\n${whole}\n`)));
    expect((await proxy.call("ada", chat)).status).toBe(200);
  });
});

test("a refusal whose body trickles gets a response in time, and its connection is closed (case 63)", async () => {
  const proxy = await startAttacked({ chunkMs: 300 });
  proxy.upstream.respondWith((socket, { closed }) => {
    socket.write(createResponse(400, "application/json", "x".repeat(60_000)).slice(0, -60_000));
    const trickle = setInterval(() => socket.write(" "), 100);
    closed.then(() => clearInterval(trickle));
  });
  const { status } = await proxy.call("ada", chat);
  expect([400, 504]).toContain(status);
  await proxy.upstream.requests[0]?.closed;
  await proxy.close();
});
