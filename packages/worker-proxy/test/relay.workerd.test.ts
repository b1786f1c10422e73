import { expect, test } from "vitest";
import { asked, chat, openProxy } from "./support/in-process.js";

const events = { "content-type": "text/event-stream" };
const streamed = { ...chat, stream: true };

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
  const { send } = openProxy({}, answer);
  const reader = (await send(asked({ body: streamed }))).body?.getReader();
  expect(seen.pulled).toBe(0);
  for (let n = 1; n <= 5; n += 1) {
    await reader?.read();
    expect(seen.pulled).toBe(n);
  }
});

test("case 41: a client that cancels ends the gateway's stream, and is told once as 499", async () => {
  const { seen, answer } = endless();
  const { send, events, reached } = openProxy({}, answer);
  const reader = (await send(asked({ body: streamed }))).body?.getReader();
  await reader?.read();
  await reader?.cancel();
  expect(seen.isCancelled).toBe(true);
  expect(reached).toHaveLength(1);
  expect(events).toMatchObject([{ status: 499, code: "client_left" }]);
});

test("case 41: a request that is aborted ends the gateway's stream, also while nobody reads", async () => {
  const { seen, answer } = endless();
  const { send, events } = openProxy({}, answer);
  const client = new AbortController();
  const reader = (await send(asked({ body: streamed, signal: client.signal }))).body?.getReader();
  await reader?.read();
  client.abort();
  expect(seen.isCancelled).toBe(true);
  expect(events).toMatchObject([{ status: 499, code: "client_left" }]);
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

test("with totalMs, an answer that goes on too long ends in an error event", async () => {
  const { answer } = endless();
  const { send, events } = openProxy({ limits: { totalMs: 20 } }, answer);
  const text = await (await send(asked({ body: streamed }))).text();
  expect(text).toMatch(/\n\nevent: error\ndata: {"error":{.*"code":"upstream_timeout"}}\n\n$/);
  expect(events).toMatchObject([{ status: 200, code: "upstream_timeout" }]);
});

test.each([1, 7, 1000])(
  "a long line and letters of several bytes pass whole in pieces of %i bytes",
  async (size) => {
    const text = `data: {"content":"${"\u00fc\u{1f600}".repeat(900)}"}\r\n\r\n: alive\n\ndata: [DONE]\n\n`;
    const bytes = new TextEncoder().encode(text);
    let at = 0;
    const { ask } = openProxy(
      {},
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
    const { ask } = openProxy({}, () => new Response(body, { headers: events }));
    expect((await ask(asked({ body: streamed }))).text).toBe(text);
  }
});

test("a line that does not end is passed on in pieces of a megabyte", async () => {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(100_000).fill(97));
      },
    },
    { highWaterMark: 0 },
  );
  const { send } = openProxy({}, () => new Response(body, { headers: events }));
  const reader = (await send(asked({ body: streamed }))).body?.getReader();
  expect((await reader?.read())?.value).toHaveLength(1_100_000);
  expect(sent).toBe(11);
  await reader?.cancel();
});

test("a stream may end without a line break", async () => {
  const { ask } = openProxy({}, () => new Response("data: [DONE]", { headers: events }));
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
  const { send: ask } = openProxy({}, () => new Response(body, { headers: events }));
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
