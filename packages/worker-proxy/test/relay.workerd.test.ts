import { readStreams } from "@sluice/worker-proxy";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { chat, createRequest, openProxy } from "./support/in-process.js";

expectLog("502 upstream_cut");

const events = { "content-type": "text/event-stream" };
const streamed = { ...chat, stream: true };

const { setTimeout: realTimeout } = globalThis;

/** The clock stops until `inTime` or the test advances it. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Lets time pass until `promise` has settled, 20 ms in each turn of the event loop. */
async function inTime<T>(promise: Promise<T>): Promise<T> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  promise.then(end, end);
  for (let turn = 0; !isOver && turn < 10_000; turn += 1) {
    await vi.advanceTimersByTimeAsync(20);
    await new Promise((resolve) => realTimeout(resolve));
  }
  return promise;
}

/** With `readStreams()` the proxy reads the whole stream; without it, the platform's own pump passes it on. */
const read = { timeout: { chunkMs: 60_000 }, plugins: [readStreams()] };
const pumped = {};
const both = [
  ["read", read],
  ["pumped", pumped],
] as const;

/** Creates an endless response, which counts its reads. An abort of the request does not end it. */
function endless(filling = "") {
  const reads = { pulled: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reads.pulled += 1;
        await new Promise((resolve) => setTimeout(resolve)); // lets timers have their turn, as a network does
        controller.enqueue(new TextEncoder().encode(`data: {"n":${reads.pulled}}${filling}\n\n`));
      },
      cancel() {
        reads.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { reads, respond: () => new Response(body, { headers: events }) };
}

test("reads from the gateway only what the client reads (case 42)", async () => {
  // each event is as large as the largest write that the proxy gathers from small events
  const { reads, respond } = endless(" ".repeat(64 * 1024));
  const { send } = openProxy(read, respond);
  const reader = (await send(createRequest({ body: streamed }))).body?.getReader();
  expect(reads.pulled).toBe(0);
  for (let n = 1; n <= 5; n += 1) {
    await reader?.read();
    expect(reads.pulled).toBe(n);
  }
});

test.each([
  ["JSON", chat, '{"id":"1"}', { "content-type": "application/json" }],
  ["a stream", streamed, 'data: {"n":1}\n\ndata: [DONE]\n\n', events],
])("a wrong length and encoding of %s are not passed on", async (_, body, text, headers) => {
  const lies = { ...headers, "content-length": "3", "content-encoding": "gzip" };
  for (const [, options] of both) {
    const response = await openProxy(options, () => new Response(text, { headers: lies })).call(
      createRequest({ body }),
    );
    expect([response.headers.get("content-length"), response.headers.get("content-encoding")]).toEqual([
      null,
      null,
    ]);
    expect(response.text).toBe(text);
  }
});

test("reads at most a few pieces ahead of the client (case 42)", async () => {
  const { reads, respond } = endless(" ".repeat(64 * 1024));
  const { send } = openProxy(pumped, respond);
  const reader = (await send(createRequest({ body: streamed }))).body?.getReader();
  await reader?.read();
  for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setTimeout(resolve));
  expect(reads.pulled).toBeLessThan(4);
  await reader?.cancel();
});

test.each(both)(
  "a client that cancels a stream that is %s ends the gateway's stream, and is one event with 499 (case 41)",
  async (_, options) => {
    const { reads, respond } = endless();
    const { send, events, reached } = openProxy(options, respond);
    const reader = (await send(createRequest({ body: streamed }))).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await expect.poll(() => events).toMatchObject([{ status: 499, code: "client_left" }]);
    await expect.poll(() => reads.isCancelled).toBe(true);
    expect(reached).toHaveLength(1);
  },
);

test.each(both)(
  "a request that is aborted ends a stream that is %s, also an unread one (case 41)",
  async (_, options) => {
    const { respond } = endless();
    let signal: AbortSignal | undefined;
    const { send, events } = openProxy(options, (request) => {
      signal = request.signal;
      return respond();
    });
    const client = new AbortController();
    const reader = (await send(createRequest({ body: streamed, signal: client.signal }))).body?.getReader();
    await reader?.read();
    client.abort();
    expect(signal?.aborted).toBe(true);
    expect(events).toMatchObject([{ status: 499, code: "client_left" }]);
  },
);

test("ends a stream that ignores the abort where it is read (case 41)", async () => {
  const { reads, respond } = endless();
  const { send } = openProxy(read, respond);
  const client = new AbortController();
  const reader = (await send(createRequest({ body: streamed, signal: client.signal }))).body?.getReader();
  await reader?.read();
  client.abort();
  expect(reads.isCancelled).toBe(true);
});

describe("after the [DONE] of a stream that is read, the gateway's connection", () => {
  test.each([
    ["is stored where it ends", false, (controller: ReadableStreamDefaultController) => controller.close()],
    ["is closed where more comes", true, (controller) => controller.enqueue(new Uint8Array([58, 10, 10]))],
    ["is closed where nothing comes for two seconds", true, () => new Promise<void>(() => {})],
  ])("%s", async (_, isClosed, next) => {
    stopTime();
    const done = new TextEncoder().encode("data: [DONE]\n\n");
    const pulls = [(controller: ReadableStreamDefaultController) => controller.enqueue(done), next];
    const body = new ReadableStream(
      { pull: (controller) => pulls.shift()?.(controller) },
      { highWaterMark: 0 },
    );
    let signal: AbortSignal | undefined;
    const { call, events: reported } = openProxy(read, (request) => {
      signal = request.signal;
      return new Response(body, { headers: events });
    });
    expect((await call(createRequest({ body: streamed }))).text).toBe("data: [DONE]\n\n");
    await vi.advanceTimersByTimeAsync(2000);
    expect(signal?.aborted).toBe(isClosed);
    expect(reported).toMatchObject([{ status: 200, outcome: "unconfirmed" }]);
  });
});

test("a client that left before it was forwarded costs nothing", async () => {
  const client = new AbortController();
  let signal: AbortSignal | undefined;
  const { call, events } = openProxy({}, (request) => {
    signal = request.signal;
    return new Promise(() => {});
  });
  const response = call(createRequest({ signal: client.signal }));
  client.abort();
  await response;
  expect(signal === undefined || signal.aborted).toBe(true);
  expect(events).toMatchObject([{ status: 499 }]);
});

test.each(both)(
  "a response that takes longer than totalMs and is %s ends in an error event",
  async (_, options) => {
    stopTime();
    const { respond } = endless();
    const { send, events } = openProxy({ ...options, timeout: { totalMs: 100 } }, respond);
    const text = await inTime((await send(createRequest({ body: streamed }))).text());
    expect(text).toMatch(/\n\nevent: error\ndata: {"error":{.*"code":"upstream_timeout"}}\n\n$/);
    expect(events).toMatchObject([{ status: 200, code: "upstream_timeout" }]);
  },
);

test.each([1, 7, 1000])(
  "a long line and letters of several bytes pass whole in pieces of %i bytes",
  async (size) => {
    const text = `data: {"content":"${"\u00fc\u{1f600}".repeat(900)}"}\r\n\r\n: alive\n\ndata: [DONE]\n\n`;
    const bytes = new TextEncoder().encode(text);
    let at = 0;
    const { call } = openProxy(
      read,
      () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              if (at >= bytes.length) return controller.close();
              controller.enqueue(bytes.slice(at, at + size));
              at += size;
            },
          }),
          { headers: events },
        ),
    );
    expect((await call(createRequest({ body: streamed }))).text).toBe(text);
  },
);

test("lines pass whole wherever their pieces were cut", async () => {
  const text = "data: a\n\ndata: b\r\n\ndata: [DONE]\n\n";
  for (let cut = 1; cut < text.length; cut += 1) {
    const pieces = [text.slice(0, cut), text.slice(cut)].map((piece) => new TextEncoder().encode(piece));
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces.shift();
        if (!piece) return controller.close();
        controller.enqueue(piece);
      },
    });
    const { call } = openProxy(read, () => new Response(body, { headers: events }));
    expect((await call(createRequest({ body: streamed }))).text).toBe(text);
  }
});

test("an event without an end is buffered up to 8 MB", async () => {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(1_000_000).fill(97));
      },
    },
    { highWaterMark: 0 },
  );
  const { call } = openProxy(read, () => new Response(body, { headers: events }));
  const { text } = await call(createRequest({ body: streamed }));
  expect(text).toMatch(/^\n\nevent: error\ndata: .*"upstream_type"/);
  expect(sent).toBe(9);
});

test.each(both)("a stream that is %s may end without a line break", async (_, options) => {
  const { call } = openProxy(options, () => new Response("data: [DONE]", { headers: events }));
  expect((await call(createRequest({ body: streamed }))).text).toBe("data: [DONE]");
});

test("a `fetch` that throws may have sent the request", async () => {
  const { call } = openProxy({}, () => {
    throw new Error("no binding");
  });
  expect((await call(createRequest())).error?.["code"]).toBe("upstream_cut");
});

test("events of a stream that is read go on as they come, and none of them waits for more", async () => {
  let send: (text: string) => void = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      send = (text) => controller.enqueue(new TextEncoder().encode(`data: ${text}\n\n`));
    },
  });
  const { send: call } = openProxy(read, () => new Response(body, { headers: events }));
  const reader = (await call(createRequest({ body: streamed }))).body
    ?.pipeThrough(new TextDecoderStream())
    .getReader();
  for (const text of ["a", "b", "c"]) send(text);
  let received = "";
  while (!received.includes("c")) received += (await reader?.read())?.value;
  expect(received).toBe("data: a\n\ndata: b\n\ndata: c\n\n");
  // the stream pauses here: received events must not wait for later events
  send("d");
  expect((await reader?.read())?.value).toBe("data: d\n\n");
  await reader?.cancel();
});

describe("the truth of endings", () => {
  const delta = (text: string, index = 0, reason: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index, delta: { content: text }, finish_reason: reason }] })}\n\n`;
  const usage = `data: ${JSON.stringify({ choices: [], usage: { total_tokens: 3 } })}\n\n`;
  const ends = async (text: string, body: object = streamed) => {
    const { call } = openProxy(
      { ...read, allowFields: ["n"] },
      () => new Response(text, { headers: events }),
    );
    const response = await call(createRequest({ body }));
    const [passed = "", error] = response.text.split("\n\nevent: error\n");
    return { passed, isCut: error?.includes("upstream_cut") ?? false };
  };

  test.each([
    ["[DONE]", `${delta("a")}data: [DONE]\n\n`],
    ["a finish reason", delta("a", 0, "stop")],
    ["a finish reason and usage", delta("a", 0, "stop") + usage],
    ["both finish reasons of two choices", delta("a", 0, "stop") + delta("b", 1, "length")],
    ["an error of the gateway's", `${delta("a")}data: {"error":{"message":"overloaded"}}\n\n`],
  ])("a stream is whole with %s (case 60)", async (_, text) => {
    expect(await ends(text)).toEqual({ passed: text, isCut: false });
  });

  test.each([
    ["an empty finish reason", delta("a", 0, "")],
    ["one finish reason of two choices", delta("a", 0, "stop") + delta("b", 1)],
    ["a finish reason of another event's text", delta('"finish_reason":"stop"')],
    ["usage alone", delta("a") + usage],
  ])("a stream is cut with %s (case 60)", async (_, text) => {
    expect(await ends(text)).toEqual({ passed: text, isCut: true });
  });

  test("a response with `n: 2` and one choice is incomplete (case 60)", async () => {
    expect((await ends(delta("a", 0, "stop"), { ...streamed, n: 2 })).isCut).toBe(true);
  });

  test("a stream that breaks off after the finish reason is complete, without its broken line (case 60)", async () => {
    const whole = delta("a", 0, "stop");
    expect(await ends(`${whole}data: {"usage":{"total_to`)).toEqual({ passed: whole, isCut: false });
  });

  test("waits a short time for the rest after a finish reason (case 60)", async () => {
    stopTime();
    const { call, events: reported } = openProxy(
      { timeout: { chunkMs: 60_000 }, plugins: [readStreams()] },
      () => new Response(open(delta("a", 0, "stop")), { headers: events }),
    );
    expect((await inTime(call(createRequest({ body: streamed })))).text).toBe(delta("a", 0, "stop"));
    expect(reported).toMatchObject([{ status: 200, outcome: "complete" }]);
  });

  test("a stream ends at [DONE] without waiting for more", async () => {
    const text = `${delta("a")}data: [DONE]\n\n`;
    const { call } = openProxy(read, () => new Response(open(text), { headers: events }));
    expect((await call(createRequest({ body: streamed }))).text).toBe(text);
  });

  test("passes on events whose lines end in CR alone as they arrive (case 64)", async () => {
    const { send } = openProxy(
      read,
      () => new Response(open("data: a\r\rdata: b\r\rdata: c"), { headers: events }),
    );
    const reader = (await send(createRequest({ body: streamed }))).body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("data: a\r\rdata: b\r\r");
    await reader?.cancel();
  });
});

describe("stalls", () => {
  beforeEach(stopTime);

  const beats: readonly [string, string][] = [
    ["comments", ": alive\n\n"],
    ["empty deltas", 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'],
    ["events without choices", "data: {}\n\n"],
    ["nothing but a line without end", "x"],
  ];
  test.each(beats)("%s do not keep a stream alive (case 67)", async (_, beat) => {
    const { call } = openProxy(
      { timeout: { chunkMs: 1000 }, plugins: [readStreams()] },
      () => new Response(drip(beat, 100), { headers: events }),
    );
    expect((await inTime(call(createRequest({ body: streamed })))).text).toContain('"code":"upstream_idle"');
  });

  test("content keeps a stream alive (case 67)", async () => {
    const beat = 'data: {"choices":[{"index":0,"delta":{"reasoning_content":"a"}}]}\n\n';
    const { call } = openProxy(
      { timeout: { chunkMs: 1000 }, plugins: [readStreams()] },
      () => new Response(drip(beat, 500, 5), { headers: events }),
    );
    const { text } = await inTime(call(createRequest({ body: streamed })));
    expect(text).not.toContain("upstream_idle");
    expect(text.split("reasoning_content")).toHaveLength(6);
  });

  test("a client that reads nothing loses its stream, and the gateway's stream is closed (case 58)", async () => {
    const { reads, respond } = endless();
    const { send, events: reported } = openProxy(
      { timeout: { chunkMs: 1000 }, plugins: [readStreams()] },
      respond,
    );
    const reader = getReader(await send(createRequest({ body: streamed })));
    await inTime(reader.read());
    await vi.advanceTimersByTimeAsync(2000);
    expect(reported).toMatchObject([{ status: 499, code: "client_stalled" }]);
    expect(reads.isCancelled).toBe(true);
    await expect(reader.read()).rejects.toThrow();
  });

  test("a slow client does not count as a silent gateway", async () => {
    const pieces = ["data: {}\n\n", ": a\n\n", ": b\n\n", ": c\n\n", "data: [DONE]\n\n"];
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (pieces.length === 1) await new Promise((resolve) => setTimeout(resolve, 250));
          controller.enqueue(new TextEncoder().encode(pieces.shift()));
        },
      },
      { highWaterMark: 0 },
    );
    const { send } = openProxy(
      { timeout: { chunkMs: 1000 }, plugins: [readStreams()] },
      () => new Response(body, { headers: events }),
    );
    const reader = getReader(await send(createRequest({ body: streamed })));
    let text = "";
    for (let part = await inTime(reader.read()); !part.done; part = await inTime(reader.read())) {
      text += new TextDecoder().decode(part.value);
      await vi.advanceTimersByTimeAsync(350);
    }
    expect(text).toMatch(/^data: \{\}\n\n: a\n\n: b\n\n: c\n\ndata: \[DONE\]\n\n$/);
  });
});

function getReader({ body }: Response): ReadableStreamDefaultReader<Uint8Array> {
  return (body as ReadableStream<Uint8Array>).getReader();
}

/** Creates a body that sends a text once, and stays open. */
function open(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(text)) });
}

/** Creates a body that sends a text every `ms` milliseconds, `times` times. */
function drip(text: string, ms: number, times = 10_000): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, ms));
        sent += 1;
        if (sent > times) controller.close();
        else controller.enqueue(new TextEncoder().encode(text));
      },
    },
    { highWaterMark: 0 },
  );
}
