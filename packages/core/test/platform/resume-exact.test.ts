import { type ChatDelta, type ClientOptions, streamChat, streamResumption } from "@sluice/core";
import { describe, expect, test } from "vitest";
import {
  catchError,
  createTestClient,
  DONE,
  event,
  frame,
  openBody,
  question,
  stoppedClock,
  streamResponse,
  waitForTurn,
} from "../support/gateway.js";

const call = (fields: object) => frame({ tool_calls: [{ index: 0, ...fields }] });
const events = [
  frame({ content: "Pay " }),
  frame({ content: "100 " }),
  frame({ content: "to " }),
  frame({ content: "Bob." }),
  call({ id: "c1", type: "function", function: { name: "pay", arguments: '{"to":' } }),
  call({ function: { arguments: '"Bob"}' } }),
  frame({}, "tool_calls"),
  DONE,
];
const text = "Pay 100 to Bob.";
const withId = (id: number | string, each: string) => `id: ${id}\n${each}`;
/** Events of the log by their places, from 1. */
const logged = (...offsets: number[]) => offsets.map((at) => withId(at, events[at - 1] as string)).join("");
const behind = (last: number) => logged(...events.map((_, at) => at + 1).filter((at) => at > last));

/** A server that keeps a response: the bytes of each connection, in turn; the last one again and again. */
function storeEvents(
  connections: readonly (string | ((cursor: number) => string) | (() => Response))[],
  options: Partial<ClientOptions> = {},
) {
  const clock = stoppedClock();
  const cursors: string[] = [];
  const { client, requests } = createTestClient(
    (request, nth) => {
      if (request.method === "DELETE") return new Response(null, { status: 204 });
      const cursor = request.headers.get("last-event-id");
      if (request.method === "GET") cursors.push(cursor ?? "none");
      const given = connections[Math.min(nth, connections.length) - 1] ?? "";
      const content = typeof given === "string" ? given : given(Number(cursor));
      if (content instanceof Response) return content;
      const response = streamResponse(content);
      response.headers.set("x-stream-id", "s-1");
      return response;
    },
    { clock, random: () => 1, resume: streamResumption(), ...options },
  );
  const stream = streamChat(client, question);
  return { client, clock, cursors, requests, stream };
}

async function read({ stream, clock }: ReturnType<typeof storeEvents>) {
  const turn = await clock.advanceUntil(
    stream.result().catch((error: Error) => error),
    1000,
  );
  return { turn, content: stream.snapshot.content, calls: stream.snapshot.tool_calls ?? [] };
}

async function expectWhole(server: ReturnType<typeof storeEvents>): Promise<void> {
  const { turn, content, calls } = await read(server);
  expect(turn).toMatchObject({ outcome: "tool-calls", toolCalls: [{ input: { to: "Bob" } }] });
  expect([content, calls[0]?.function.arguments]).toEqual([text, '{"to":"Bob"}']);
}

/** Checks that the response is not called whole, and that its text is a beginning of the right one. */
async function expectTruncated(server: ReturnType<typeof storeEvents>): Promise<void> {
  const { turn, content, calls } = await read(server);
  expect(turn).toMatchObject({ name: "StreamError", reason: "truncated", partial: { content } });
  expect(text.startsWith(content)).toBe(true);
  expect('{"to":"Bob"}'.startsWith(calls[0]?.function.arguments ?? "")).toBe(true);
  const gets = server.requests.filter(({ method }) => method === "GET");
  expect(gets.length).toBeLessThan(20);
}

describe("A log of numbered events", () => {
  test("Known events are dropped when a server starts again from the beginning", async () => {
    for (let cut = 1; cut < events.length; cut += 1)
      await expectWhole(
        storeEvents([logged(...events.map((_, at) => at + 1).slice(0, cut)), () => behind(0)]),
      );
  });

  test("Each event is read once when a server repeats every event", async () => {
    const twice = events.map((_, at) => logged(at + 1, at + 1)).join("");
    await expectWhole(storeEvents([logged(1, 2), twice]));
    await expectWhole(storeEvents([twice]));
  });

  test("A gap is requested again after the last event in order", async () => {
    const server = storeEvents([logged(1, 2), logged(6, 7, 8), behind]);
    await expectWhole(server);
    expect(server.cursors).toEqual(["2", "2"]);
  });

  test("A gap in the first connection is requested too", async () => {
    const server = storeEvents([logged(1, 3, 4), behind]);
    await expectWhole(server);
    expect(server.cursors).toEqual(["1"]);
  });

  test("Events out of order are requested again", async () => {
    const server = storeEvents([logged(1), logged(3, 2, 4, 5, 6, 7, 8), behind]);
    await expectWhole(server);
    expect(server.cursors).toEqual(["1", "1"]);
  });

  test("A gap that stays is truncated, also directly before [DONE] and before the finish reason", async () => {
    for (const gap of [logged(4, 5, 6, 7, 8), logged(8), logged(7, 8)])
      await expectTruncated(storeEvents([logged(1, 2), gap]));
  });

  test("A gap at the start is truncated", async () => {
    await expectTruncated(storeEvents([logged(3, 4, 5, 6, 7, 8)]));
  });

  test("The error of a gap explains the problem of the log", async () => {
    const { turn } = await read(storeEvents([logged(1, 3)]));
    expect((turn as Error).cause).toMatchObject({ message: expect.stringContaining("missing") });
  });

  test("A server that repeats one event forever gets only five requests for the rest", async () => {
    const server = storeEvents([logged(1), logged(1)]);
    await expectTruncated(server);
    expect(server.cursors).toEqual(["1", "1", "1", "1", "1"]);
  });

  test("An event that repeats forever in one connection ends with a timeout", async () => {
    const clock = stoppedClock();
    const connections = Array.from({ length: 7 }, openBody);
    const { client } = createTestClient(
      (_, nth) => {
        const response = streamResponse((connections[nth - 1] ?? openBody()).body);
        response.headers.set("x-stream-id", "s-1");
        return response;
      },
      { clock, random: () => 0, resume: streamResumption() },
    );
    const stream = streamChat(client, question);
    const error = catchError(stream.result());
    let isOver = false;
    error.finally(() => {
      isOver = true;
    });
    for (let step = 0; !isOver && step < 400; step += 1) {
      for (const { body, cancelled, send } of connections) if (body.locked && !cancelled) send(logged(1));
      await clock.advance(5000);
      await waitForTurn();
    }
    expect(await error).toMatchObject({ name: "TimeoutError", phase: "chunk", partial: { content: "Pay " } });
    expect(clock.sleeping()).toBe(0);
  });

  test("A response with one event per connection is whole", async () => {
    await expectWhole(storeEvents([logged(1), (cursor) => logged(cursor + 1)]));
  });

  test("Ids may begin at 0", async () => {
    const from = (first: number) =>
      events
        .map((each, at) => withId(at, each))
        .slice(first)
        .join("");
    const all = events.map((each, at) => withId(at, each));
    await expectWhole(storeEvents([all.slice(0, 3).join(""), (cursor) => from(cursor + 1)]));
  });

  test("25,000 known events are dropped in linear time", async () => {
    const count = 25_000;
    const many = Array.from({ length: count }, (_, at) =>
      withId(at + 1, event({ choices: [{ index: 0, delta: { content: "x" } }] })),
    );
    const end = withId(count + 1, frame({}, "stop")) + withId(count + 2, DONE);
    const { turn, content } = await read(storeEvents([many.join(""), many.join("") + end]));
    expect(turn).toMatchObject({ outcome: "complete" });
    expect(content.length).toBe(count);
  });
});

describe("A log without numbers", () => {
  const bare = (...offsets: number[]) => offsets.map((at) => events[at - 1]).join("");
  const named = (...offsets: number[]) =>
    offsets.map((at) => withId(`ev-${at}`, events[at - 1] as string)).join("");

  test("A continuation without ids is rejected, and the last id stays", async () => {
    const server = storeEvents([logged(1, 2), bare(1, 2, 3, 4, 5, 6, 7, 8)]);
    await expectTruncated(server);
    expect(server.cursors).toEqual(["2", "2", "2", "2", "2"]);
  });

  test("A response without ids is whole in one connection, and truncated after a lost one", async () => {
    await expectWhole(storeEvents([bare(1, 2, 3, 4, 5, 6, 7, 8)]));
    await expectTruncated(storeEvents([bare(1, 2), bare(1, 2, 3, 4, 5, 6, 7, 8)]));
  });

  test("An event without an id among numbered ones is read once, and ends a resumption", async () => {
    await expectTruncated(storeEvents([logged(1) + bare(2), behind]));
    await expectTruncated(storeEvents([logged(1, 2), logged(3) + bare(4) + logged(5, 6, 7, 8)]));
  });

  test("Ids that are not numbers are compared, and known events are dropped", async () => {
    await expectWhole(storeEvents([named(1, 2), named(1, 2, 3, 4, 5, 6, 7, 8)]));
    await expectWhole(storeEvents([named(1, 2), named(2, 3, 4, 5, 6, 7, 8)]));
    await expectWhole(storeEvents([named(1, 2), named(3, 4, 5, 6, 7, 8)]));
  });

  test("Numbers after other ids are a gap, and the response is truncated", async () => {
    await expectTruncated(storeEvents([named(1, 2), logged(3, 4, 5, 6, 7, 8)]));
    await expectTruncated(storeEvents([logged(1, 2), named(3, 4, 5, 6, 7, 8)]));
  });

  test("Ids have no meaning without a proxy that stores the response", async () => {
    const { client } = createTestClient(() => streamResponse(events.map((each) => withId(7, each)).join("")));
    const deltas: ChatDelta[] = [];
    for await (const delta of streamChat(client, question)) deltas.push(delta);
    expect(deltas.at(-1)).toMatchObject({ type: "finish", outcome: "tool-calls" });
    const stream = streamChat(client, question);
    expect((await stream.result()).message.content).toBe(text);
  });
});

describe("A bad response to the request for the rest", () => {
  const page = () => new Response("<html>Sign in</html>", { headers: { "content-type": "text/html" } });
  const refusal =
    (status: number, headers: Record<string, string> = {}) =>
    () =>
      new Response(JSON.stringify({ error: { message: "not now", code: "expired" } }), { status, headers });
  const once: [string, () => Response][] = [
    ["401", refusal(401)],
    ["403", refusal(403)],
    ["302", () => new Response(null, { status: 302, headers: { location: "/login" } })],
    ["400", refusal(400)],
    ["404", refusal(404)],
    ["410", refusal(410)],
    ["408", refusal(408)],
    ["500", refusal(500)],
    ["502", page],
    ["a page with status 200", page],
    ["JSON with status 200", () => Response.json({ error: { message: "quota" } })],
    ["Retry-After of a day", refusal(429, { "retry-after": "86400" })],
  ];

  test.each(once)("One %s does not end the response, which is whole", async (_, bad) => {
    const server = storeEvents([logged(1, 2), bad, behind]);
    await expectWhole(server);
    expect(server.cursors).toEqual(["2", "2"]);
  });

  test("A lost network does not end the response either", async () => {
    const lost = () => {
      throw new TypeError("failed to fetch");
    };
    await expectWhole(storeEvents([logged(1, 2), lost, behind]));
  });

  test.each([401, 403, 302])(
    "A second %i ends the response, with its id and the refusal as the cause",
    async (status) => {
      const bad = () => new Response(null, { status, headers: status === 302 ? { location: "/login" } : {} });
      const server = storeEvents([logged(1, 2), bad]);
      const { turn } = await read(server);
      expect(turn).toMatchObject({
        name: "StreamError",
        reason: "truncated",
        partial: { content: "Pay 100 " },
        cause: { name: "APIError", status },
      });
      expect(server.stream.streamId).toBe("s-1");
      expect(server.cursors).toEqual(["2", "2"]);
      expect(server.requests.map(({ method }) => method)).toEqual(["POST", "GET", "GET"]);
    },
  );

  test("Each request gets new headers of the app, for example of a renewed session", async () => {
    let token = 0;
    const sent: (string | null)[] = [];
    const server = storeEvents([logged(1, 2), refusal(401), behind], {
      headers: () => ({ "x-session": `${++token}` }),
    });
    await expectWhole(server);
    for (const { headers } of server.requests) sent.push(headers.get("x-session"));
    expect(sent).toEqual(["1", "2", "3"]);
  });

  test("An unreachable server ends the response after five requests, with its id and the cause", async () => {
    const server = storeEvents([logged(1, 2), refusal(503)]);
    const { turn } = await read(server);
    expect(turn).toMatchObject({ reason: "truncated", cause: { name: "APIError", status: 503 } });
    expect([server.cursors.length, server.stream.streamId]).toEqual([5, "s-1"]);
  });

  test("A persistent 404 ends the response without its id", async () => {
    const server = storeEvents([logged(1, 2), refusal(404)]);
    expect((await read(server)).turn).toMatchObject({ reason: "truncated" });
    expect([server.cursors.length, server.stream.streamId]).toEqual([5, undefined]);
  });

  test.each<[string, () => Response]>([
    ["204", () => new Response(null, { status: 204 })],
    ["404 of the proxy", refusal(404, { "x-sluice-source": "proxy" })],
  ])("A %s ends the response at once", async (_, gone) => {
    const server = storeEvents([logged(1, 2), gone]);
    expect((await read(server)).turn).toMatchObject({ reason: "truncated" });
    expect([server.cursors.length, server.stream.streamId]).toEqual([1, undefined]);
  });

  test("Each wait before another request emits an event", async () => {
    const waits: number[] = [];
    const server = storeEvents([logged(1, 2), refusal(503), refusal(503), behind], {
      onEvent: (each) => {
        if (each.type === "retry") waits.push(each.delayMs);
      },
    });
    await expectWhole(server);
    expect(waits).toEqual([2000, 4000]);
  });
});

test("A response that is not read for a minute loses its connection, and continues at the next read", async () => {
  const clock = stoppedClock();
  const first = openBody();
  const { client, requests } = createTestClient(
    ({ method }) => {
      const response = streamResponse(method === "POST" ? first.body : behind(2));
      response.headers.set("x-stream-id", "s-1");
      return response;
    },
    { clock, resume: streamResumption() },
  );
  const stream = streamChat(client, question);
  const iterator = stream[Symbol.asyncIterator]();
  first.send(logged(1, 2));
  await iterator.next();
  await clock.advance(60_000);
  expect(first.cancelled).toBe(true);
  await clock.advance(240_000);
  expect([clock.sleeping(), requests.length]).toEqual([0, 1]);
  expect((await iterator.next()).value).toMatchObject({ text: "100 " });
  expect((await iterator.next()).value).toMatchObject({ text: "to " });
  expect((await stream.result()).message.content).toBe(text);
  expect(requests.map(({ method }) => method)).toEqual(["POST", "GET"]);
});
