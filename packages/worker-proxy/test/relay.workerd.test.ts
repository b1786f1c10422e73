import { expect, test, vi } from "vitest";
import { asked, chat, openProxy } from "./support/in-process.js";

const events = { "content-type": "text/event-stream" };
const streamed = { ...chat, stream: true };

/** With `stallMs` the proxy reads the whole stream; without it, the platform's own pump passes it on. */
const read = { limits: { stallMs: 60_000 } };
const pumped = {};
const both = [
  ["read", read],
  ["pumped", pumped],
] as const;

/** A gateway that goes on for ever, counts what was taken from it, and does not hear an abort by itself. */
function endless(filling = "") {
  const seen = { pulled: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        seen.pulled += 1;
        await new Promise((resolve) => setTimeout(resolve)); // lets timers have their turn, as a network does
        controller.enqueue(new TextEncoder().encode(`data: {"n":${seen.pulled}}${filling}\n\n`));
      },
      cancel() {
        seen.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { seen, answer: () => new Response(body, { headers: events }) };
}

test("case 42: nothing is taken from the gateway that the client does not take", async () => {
  // each as large as all that is gathered at most
  const { seen, answer } = endless(" ".repeat(64 * 1024));
  const { send } = openProxy(read, answer);
  const reader = (await send(asked({ body: streamed }))).body?.getReader();
  expect(seen.pulled).toBe(0);
  for (let n = 1; n <= 5; n += 1) {
    await reader?.read();
    expect(seen.pulled).toBe(n);
  }
});

test("case 42: what is pumped is at most a few pieces ahead of the client", async () => {
  const { seen, answer } = endless(" ".repeat(64 * 1024));
  const { send } = openProxy(pumped, answer);
  const reader = (await send(asked({ body: streamed }))).body?.getReader();
  await reader?.read();
  for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setTimeout(resolve));
  expect(seen.pulled).toBeLessThan(4);
  await reader?.cancel();
});

test.each(both)(
  "case 41: a client that cancels a stream that is %s ends the gateway's, told once as 499",
  async (_, options) => {
    const { seen, answer } = endless();
    const { send, events, reached } = openProxy(options, answer);
    const reader = (await send(asked({ body: streamed }))).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await vi.waitFor(() => expect(events).toMatchObject([{ status: 499, code: "client_left" }]));
    await vi.waitFor(() => expect(seen.isCancelled).toBe(true));
    expect(reached).toHaveLength(1);
  },
);

test.each(both)(
  "case 41: a request that is aborted ends a stream that is %s, also while nobody reads",
  async (_, options) => {
    const { answer } = endless();
    let signal: AbortSignal | undefined;
    const { send, events } = openProxy(options, (request) => {
      signal = request.signal;
      return answer();
    });
    const client = new AbortController();
    const reader = (await send(asked({ body: streamed, signal: client.signal }))).body?.getReader();
    await reader?.read();
    client.abort();
    expect(signal?.aborted).toBe(true);
    expect(events).toMatchObject([{ status: 499, code: "client_left" }]);
  },
);

test("case 41: so does one that does not hear the abort, where it is read", async () => {
  const { seen, answer } = endless();
  const { send } = openProxy(read, answer);
  const client = new AbortController();
  const reader = (await send(asked({ body: streamed, signal: client.signal }))).body?.getReader();
  await reader?.read();
  client.abort();
  expect(seen.isCancelled).toBe(true);
});

test("a client that left before it was forwarded costs nothing", async () => {
  const client = new AbortController();
  let signal: AbortSignal | undefined;
  const { ask, events } = openProxy({}, (request) => {
    signal = request.signal;
    return new Promise(() => {});
  });
  const answer = ask(asked({ signal: client.signal }));
  client.abort();
  await answer;
  expect(signal === undefined || signal.aborted).toBe(true);
  expect(events).toMatchObject([{ status: 499 }]);
});

test.each(both)(
  "with totalMs, an answer that goes on too long and is %s ends in an error event",
  async (_, { limits }: typeof read | { limits?: never }) => {
    const { answer } = endless();
    const { send, events } = openProxy({ limits: { ...limits, totalMs: 20 } }, answer);
    const text = await (await send(asked({ body: streamed }))).text();
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
    const { ask } = openProxy(
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
    expect((await ask(asked({ body: streamed }))).text).toBe(text);
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
    const { ask } = openProxy(read, () => new Response(body, { headers: events }));
    expect((await ask(asked({ body: streamed }))).text).toBe(text);
  }
});

test("an event that does not end is not kept beyond 8 MB", async () => {
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
  const { ask } = openProxy(read, () => new Response(body, { headers: events }));
  const { text } = await ask(asked({ body: streamed }));
  expect(text).toMatch(/^\n\nevent: error\ndata: .*"upstream_type"/);
  expect(sent).toBe(9);
});

test.each(both)("a stream that is %s may end without a line break", async (_, options) => {
  const { ask } = openProxy(options, () => new Response("data: [DONE]", { headers: events }));
  expect((await ask(asked({ body: streamed }))).text).toBe("data: [DONE]");
});

test("a gateway's function that throws is a gateway that can't be reached", async () => {
  const { ask } = openProxy({}, () => {
    throw new Error("no binding");
  });
  expect((await ask(asked())).error?.["code"]).toBe("upstream_unreachable");
});

test("what comes in the same moment goes on together, and nothing of it waits for more", async () => {
  let send: (text: string) => void = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      send = (text) => controller.enqueue(new TextEncoder().encode(`data: ${text}\n\n`));
    },
  });
  const { send: ask } = openProxy(read, () => new Response(body, { headers: events }));
  const reader = (await ask(asked({ body: streamed }))).body
    ?.pipeThrough(new TextDecoderStream())
    .getReader();
  for (const text of ["a", "b", "c"]) send(text);
  let heard = "";
  while (!heard.includes("c")) heard += (await reader?.read())?.value;
  expect(heard).toBe("data: a\n\ndata: b\n\ndata: c\n\n");
  // nothing more is coming: what is there must not be held for it
  send("d");
  expect((await reader?.read())?.value).toBe("data: d\n\n");
  await reader?.cancel();
});
