import { defineTool, StreamError, streamChat, streamResumption, TimeoutError } from "@sluice/core";
import {
  type ChatMessage,
  type ChatStorage,
  type ChatStoreOptions,
  createChatStore,
  memoryStorage,
} from "@sluice/stores";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  catchError,
  createTestClient,
  DONE,
  frame,
  openBody,
  question,
  stoppedClock,
  streamResponse,
  waitForTurn,
  waitUntil,
} from "../../core/test/support/gateway.js";
import { streamCalls, streamText } from "../../core/test/support/reply-streams.js";
import { addIds, type Ending, serveStored, writeError } from "../../core/test/support/stored-streams.js";
import { until } from "./support/chat.js";
import {
  countBytes,
  createFrame,
  cutAfter,
  expectCompleteAfterCuts,
  readAll,
  readWhole,
  storedEvents,
  streamAll,
} from "./support/resumable-streams.js";
import { copyAsClosedPage } from "./support/tabs.js";

const resumingClient: typeof createTestClient = (storedEvents, options) =>
  createTestClient(storedEvents, { resume: streamResumption(), ...options });

const gone = () =>
  Response.json(
    { error: { message: "no such stream", code: "not_found" } },
    { status: 404, headers: { "x-sluice-source": "proxy" } },
  );

describe("a resumable stream", () => {
  test.each<Ending>(["end", "drop", "upstream_cut"])(
    "continues after a lost connection: %s",
    async (ending) => {
      const { stream, attempts } = streamAll([cutAfter(3, ending)]);
      const expected = await readWhole();
      expect(await readAll(stream)).toEqual(expected.deltas);
      expect(await stream.result()).toMatchObject(expected.turn);
      expect(attempts()).toEqual(["POST", "GET after 3"]);
    },
  );

  test("is complete after lost connections at any bytes, and requested once", () =>
    expectCompleteAfterCuts(9));

  test("continues after any number of lost connections, as long as each one brings new data", async () => {
    // each connection sends one more event
    const one = countBytes([frame({ content: "a" })]) + 40;
    const { stream, attempts } = streamAll(
      Array.from({ length: 7 }, () => ({ bytes: one, ending: "drop" as const })),
      {},
      [...Array.from("abcdefg", (content) => frame({ content })), frame({}, "stop"), DONE],
    );
    expect((await stream.result()).message.content).toBe("abcdefg");
    expect(attempts().length).toBeGreaterThan(4);
  });

  test("is read from the start if the connection was lost before the first event", async () => {
    const { stream, attempts } = streamAll([{ bytes: 5, ending: "drop" }]);
    expect(await readAll(stream)).toEqual((await readWhole()).deltas);
    expect(attempts()).toEqual(["POST", "GET"]);
  });

  test("continues after a silence", async () => {
    const clock = stoppedClock();
    const { stream, attempts } = streamAll([cutAfter(2, "silence")], { clock });
    const turn = stream.result();
    await waitUntilIdle();
    await clock.advance(60_000);
    expect((await turn).message).toEqual((await readWhole()).turn.message);
    expect(attempts()).toEqual(["POST", "GET after 2"]);
  });

  /** Each connection sends some events, then a heartbeat every half minute. */
  function createBeatingStream(parts: readonly (readonly string[])[]) {
    const clock = stoppedClock();
    const connections = parts.map(() => openBody());
    const { client, requests } = resumingClient(
      (_, nth) => {
        const response = streamResponse((connections[nth - 1] ?? openBody()).body);
        response.headers.set("x-stream-id", "s-1");
        return response;
      },
      { clock, random: () => 0, onEvent: () => {} },
    );
    const turn = streamChat(client, question).result();
    turn.catch(() => {});
    let before = 0;
    const passHalfMinutes = async (count: number, beat = ": keep-alive\n\n") => {
      for (let half = 0; half < count; half += 1) {
        await waitUntilIdle();
        await clock.advance(30_000);
        for (const { body, send, cancelled } of connections) if (body.locked && !cancelled) send(beat);
      }
    };
    const connect = async (nth: number) => {
      await connections[nth]?.wanted();
      const part = parts[nth] ?? [];
      if (part.length > 0)
        connections[nth]?.send(addIds([...storedEvents.slice(0, before), ...part], before));
      before += part.length;
    };
    return { clock, connections, requests, turn, connect, passHalfMinutes };
  }

  test("continues after a stall with heartbeats", async () => {
    const { requests, turn, connect, passHalfMinutes } = createBeatingStream([
      storedEvents.slice(0, 2),
      storedEvents.slice(2),
    ]);
    await connect(0);
    await passHalfMinutes(2);
    await connect(1);
    expect((await turn).message).toEqual((await readWhole()).turn.message);
    expect(requests.map(({ method }) => method)).toEqual(["POST", "GET"]);
  });

  test("is resumed after five minutes without content, not after one", async () => {
    const { requests, turn, connect, passHalfMinutes } = createBeatingStream([[], storedEvents]);
    await connect(0);
    await passHalfMinutes(9);
    expect(requests).toHaveLength(1);
    await passHalfMinutes(1);
    await connect(1);
    expect((await turn).message).toEqual((await readWhole()).turn.message);
    expect(requests.map(({ method }) => method)).toEqual(["POST", "GET"]);
  });

  test("ends as a timeout if every connection stalls after empty deltas", async () => {
    const { requests, turn, connect, passHalfMinutes } = createBeatingStream([
      storedEvents.slice(0, 3),
      [],
      [],
      [],
      [],
    ]);
    await connect(0);
    await passHalfMinutes(14, createFrame({}));
    expect(await catchError(turn)).toMatchObject({
      name: "TimeoutError",
      phase: "chunk",
      partial: { content: "Gr\u00fc\u00df Gott" },
    });
    expect(requests.map(({ method }) => method)).toEqual(["POST", ...Array.from({ length: 5 }, () => "GET")]);
  });

  test("is complete once its end has arrived, even if the connection then breaks", async () => {
    const { stream, attempts } = streamAll([cutAfter(7, "drop")]);
    expect((await stream.result()).finishReason).toBe("tool_calls");
    expect(attempts()).toEqual(["POST"]);
  });

  test("leaves no connection and no timer behind after a lost connection", async () => {
    const clock = stoppedClock();
    const broken = openBody();
    const { client } = resumingClient(
      ({ method }) => {
        const response = streamResponse(method === "POST" ? broken.body : addIds(storedEvents, 2));
        response.headers.set("x-stream-id", "s-1");
        return response;
      },
      { clock },
    );
    const turn = streamChat(client, question).result();
    await broken.wanted();
    broken.send(addIds(storedEvents.slice(0, 2)) + writeError("upstream_cut").trimStart());
    expect((await turn).message).toEqual((await readWhole()).turn.message);
    expect(broken.cancelled).toBe(true);
    await clock.advance(1000);
    expect(clock.sleeping()).toBe(0);
  });

  test("is resumed with the headers of the request", async () => {
    const { client, requests } = serveStored(storedEvents, [cutAfter(2)], {
      apiKey: "secret-key",
      dangerouslyAllowBrowser: true,
      credentials: "include",
    });
    await streamChat(client, question, { headers: { "x-tenant": "t" } }).result();
    const [, get] = requests;
    expect(get?.url).toBe("https://gateway.test/v1/chat/streams/s-1");
    expect(get?.headers.get("authorization")).toBe("Bearer secret-key");
    expect(get?.headers.get("x-tenant")).toBe("t");
  });
});

describe("a response that cannot be resumed", () => {
  const partial = { content: "Gr\u00fc\u00df Gott" };

  test.each([
    ["404", gone],
    ["204", () => new Response(null, { status: 204 })],
  ])("is truncated, as without resumable streams: %s", async (_, refused) => {
    const { stream, attempts } = streamAll([cutAfter(3, "drop"), refused()]);
    const error = await catchError(stream.result());
    expect(error).toBeInstanceOf(StreamError);
    expect(error).toMatchObject({ reason: "truncated", partial });
    expect((error as Error).cause).toMatchObject({ message: "terminated" });
    expect(attempts()).toEqual(["POST", "GET after 3"]);
    expect(stream.streamId).toBeUndefined();
  });

  test.each<[string, () => TypeError | Response]>([
    ["the network", () => new TypeError("failed to fetch")],
    ["the proxy", () => new Response(null, { status: 503 })],
  ])("is requested for half a minute while %s is unreachable", async (_, away) => {
    const tries = (count: number) => Array.from({ length: count }, () => away());
    const clock = stoppedClock();
    const short = streamAll([cutAfter(3, "drop"), ...tries(4)], { clock });
    const long = streamAll([cutAfter(3, "drop"), ...tries(5)], { clock });
    const [back, lost] = [short.stream.result(), catchError(long.stream.result())];
    for (let second = 0; second < 32; second += 1) {
      await waitUntilIdle();
      await clock.advance(1000);
    }
    await waitUntilIdle();
    expect((await back).outcome).toBe("tool-calls");
    expect(short.attempts()).toEqual(["POST", ...Array.from({ length: 5 }, () => "GET after 3")]);
    expect(await lost).toMatchObject({ name: "StreamError", reason: "truncated", partial });
    expect(long.attempts()).toHaveLength(6);
    expect(clock.sleeping()).toBe(0);
  });

  test("ends as a timeout after a silence, with the text so far", async () => {
    const clock = stoppedClock();
    const { stream } = streamAll([cutAfter(3, "silence"), gone()], { clock });
    const error = catchError(stream.result());
    await waitUntilIdle();
    await clock.advance(60_000);
    await waitUntilIdle();
    expect(await error).toBeInstanceOf(TimeoutError);
    expect(await error).toMatchObject({ phase: "chunk", partial });
  });

  /** Creates a lost response whose next connection gets no headers. */
  function createUnheard(timeout: object) {
    const clock = stoppedClock();
    const { client, requests } = resumingClient(
      ({ method }) => {
        if (method === "GET") return new Promise(() => {});
        const response = streamResponse(addIds(storedEvents.slice(0, 3)));
        response.headers.set("x-stream-id", "s-1");
        return response;
      },
      { clock },
    );
    return { clock, requests, stream: streamChat(client, question, { timeout }) };
  }

  test("keeps the text so far after the total timeout", async () => {
    const { clock, requests, stream } = createUnheard({ totalMs: 30_000 });
    const error = catchError(stream.result());
    await waitForRequests(requests, 2);
    await clock.advance(30_000);
    expect(await error).toMatchObject({ name: "TimeoutError", phase: "total", partial });
    expect(clock.sleeping()).toBe(0);
  });

  test("A connection without headers is repeated, and the text so far stays at the end", async () => {
    const { clock, requests, stream } = createUnheard({ firstChunkMs: 20_000 });
    const error = await clock.advanceUntil(catchError(stream.result()), 5000);
    expect(error).toMatchObject({
      reason: "truncated",
      partial,
      cause: { name: "TimeoutError", phase: "first-chunk" },
    });
    expect(requests.map(({ method }) => method)).toEqual(["POST", "GET", "GET", "GET", "GET", "GET"]);
    expect([clock.sleeping(), stream.streamId]).toEqual([0, "s-1"]);
  });

  test("is truncated if the connection is lost after a silence that ended", async () => {
    const clock = stoppedClock();
    const { stream } = streamAll([cutAfter(2, "silence"), { bytes: 150, ending: "drop" }, gone()], { clock });
    const error = catchError(stream.result());
    await waitUntilIdle();
    await clock.advance(60_000);
    await waitUntilIdle();
    expect(await error).toMatchObject({ reason: "truncated" });
  });

  test("ends after five connections without a chunk, each later than the last", async () => {
    const clock = stoppedClock();
    const nothing = Array.from({ length: 6 }, () => ({ bytes: 0, ending: "end" }) as const);
    const { stream, attempts, requests } = streamAll([cutAfter(3), ...nothing], { clock, random: () => 1 });
    const error = catchError(stream.result());
    await waitForRequests(requests, 2);
    let count = 2;
    for (const ms of [2000, 4000, 8000, 16_000]) {
      expect(attempts()).toHaveLength(count);
      await waitUntilIdle();
      await clock.advance(ms - 1);
      await waitUntilIdle();
      expect(attempts()).toHaveLength(count);
      await clock.advance(1);
      await waitUntilIdle();
      count += 1;
    }
    expect(await error).toMatchObject({ reason: "truncated", partial });
    expect(attempts()).toEqual(["POST", ...Array.from({ length: 5 }, () => "GET after 3")]);
  });

  test.each([
    ["upstream_cut", "no cut", [], ["POST", "GET after 3"]],
    ["upstream_cut", "a cut", [cutAfter(2)], ["POST", "GET after 2", "GET after 3"]],
    ["stream_interrupted", "no cut", [], ["POST"]],
    ["stream_interrupted", "a cut", [cutAfter(2)], ["POST", "GET after 2"]],
  ] as const)("ends with the error of the proxy: %s after %s", async (code, _, cuts, expected) => {
    const broken = [...storedEvents.slice(0, 3), writeError(code).trimStart()];
    const { stream, attempts } = streamAll(cuts, {}, broken);
    expect(await catchError(stream.result())).toMatchObject({ reason: "truncated", code, partial });
    expect(attempts()).toEqual(expected);
  });

  test.each(["../../v1/models", "a b", "", "x".repeat(129)])(
    "is not resumed with an invalid id: %j",
    async (id) => {
      const { client, requests } = resumingClient(() => {
        const response = streamResponse(storedEvents[0] as string);
        response.headers.set("x-stream-id", id);
        return response;
      });
      expect(await catchError(streamChat(client, question).result())).toMatchObject({ reason: "truncated" });
      expect(requests).toHaveLength(1);
    },
  );

  test("is requested once and truncated without an id", async () => {
    const { client, requests } = resumingClient(() => streamResponse(addIds(storedEvents.slice(0, 2))));
    const stream = streamChat(client, question);
    expect(await catchError(stream.result())).toMatchObject({ reason: "truncated" });
    stream.abort();
    expect(requests).toHaveLength(1);
  });

  test("is not resumed after a frame that is not JSON", async () => {
    const { stream, attempts } = streamAll([], {}, [storedEvents[0] as string, "data: {no\n\n"]);
    expect(await catchError(stream.result())).toMatchObject({ reason: "malformed" });
    expect(attempts()).toEqual(["POST"]);
  });
});

describe("stopping a resumable stream", () => {
  const open = [{ ...cutAfter(2), ending: "silence" }] as const;

  test.each<[string, (stream: ReturnType<typeof streamChat>, caller: AbortController) => void]>([
    ["abort()", (stream) => stream.abort()],
    ["the caller's signal", (_, caller) => caller.abort()],
  ])("stops it at the proxy, too: %s", async (_, stop) => {
    const { client, requests, attempts } = serveStored(storedEvents, open, {
      apiKey: "secret-key",
      dangerouslyAllowBrowser: true,
      credentials: "include",
    });
    const caller = new AbortController();
    const stream = streamChat(client, question, { signal: caller.signal, headers: { "x-tenant": "t" } });
    const result = catchError(stream.result());
    await waitUntilIdle();
    stop(stream, caller);
    expect(await result).toMatchObject({ name: "AbortError" });
    await waitForRequests(requests, 2);
    expect(attempts()).toEqual(["POST", "DELETE"]);
    const last = requests.at(-1);
    expect(last?.url).toBe("https://gateway.test/v1/chat/streams/s-1");
    expect(last?.headers.get("authorization")).toBe("Bearer secret-key");
    expect(last?.headers.get("x-tenant")).toBe("t");
    // some runtimes have neither
    const { credentials, keepalive } = new Request("https://gateway.test", {
      credentials: "include",
      keepalive: true,
    });
    expect(last).toMatchObject({ ...(credentials && { credentials }), ...(keepalive && { keepalive }) });
  });

  test("stops the response at the proxy even without resume, because the proxy would read and pay for the rest", async () => {
    const { client, requests, attempts } = serveStored(storedEvents, open, {
      resume: undefined,
      onEvent: () => {},
    });
    const stream = streamChat(client, question, { headers: { "x-tenant": "t" } });
    const result = catchError(stream.result());
    await waitUntilIdle();
    stream.abort();
    expect(await result).toMatchObject({ name: "AbortError" });
    await waitForRequests(requests, 2);
    expect(attempts()).toEqual(["POST", "DELETE"]);
    expect(requests.at(-1)?.headers.get("x-tenant")).toBe("t");
  });

  test("sends the stop to the configured address only", async () => {
    const { stream, requests } = streamAll(open);
    for await (const _ of stream) break;
    await waitForRequests(requests, 2);
    expect(requests.map(({ redirect }) => redirect)).toEqual(["manual", "manual"]);
  });

  test("stops the response at the proxy when the loop is left", async () => {
    const { stream, requests, attempts } = streamAll(open);
    for await (const _ of stream) break;
    await waitForRequests(requests, 2);
    expect(attempts()).toEqual(["POST", "DELETE"]);
  });

  test("does not keep the connection of the stop open", async () => {
    const proxy = serveStored(storedEvents, open).client;
    const stopped = openBody();
    const { client } = resumingClient((request) =>
      request.method === "DELETE" ? new Response(stopped.body) : proxy.fetch(request),
    );
    for await (const _ of streamChat(client, question)) break;
    await expect.poll(() => stopped.cancelled).toBe(true);
  });

  test("stops the response at the proxy while it is being resumed", async () => {
    const clock = stoppedClock();
    const nothing = { bytes: 0, ending: "end" } as const;
    const { stream, requests, attempts } = streamAll([cutAfter(2), nothing], { clock, random: () => 1 });
    const result = catchError(stream.result());
    await waitForRequests(requests, 2);
    stream.abort();
    expect(await result).toMatchObject({ name: "AbortError" });
    await waitForRequests(requests, 3);
    await clock.advance(10_000);
    expect(attempts()).toEqual(["POST", "GET after 2", "DELETE"]);
  });

  test("reports nothing if the proxy cannot be reached", async () => {
    const { client } = resumingClient((request) => {
      if (request.method === "DELETE") throw new TypeError("failed to fetch");
      const response = streamResponse(new ReadableStream());
      response.headers.set("x-stream-id", "s-1");
      return response;
    });
    const stream = streamChat(client, question);
    const result = catchError(stream.result());
    await waitUntilIdle();
    stream.abort();
    expect(await result).toMatchObject({ name: "AbortError" });
    await waitUntilIdle();
  });

  test("stops nothing after the end", async () => {
    const { stream, attempts } = streamAll([]);
    await stream.result();
    stream.abort();
    await waitUntilIdle();
    expect(attempts()).toEqual(["POST"]);
  });
});

/** Opens a page with a chat in `storage`, behind a proxy with resumable streams. */
function openPage(
  storage: ChatStorage,
  events: readonly string[],
  cuts: Parameters<typeof serveStored>[1],
  options: Partial<ChatStoreOptions> = {},
) {
  const clock = stoppedClock();
  const proxy = serveStored(events, cuts, { clock, retry: { limit: 0 } });
  const open = { id: "a", model: "alpha-v4.1-flash", storage, ...options } as ChatStoreOptions;
  const chat = createChatStore(proxy.client, open);
  const last = () => chat.getSnapshot().messages.at(-1) as ChatMessage;
  const ended = () => until(chat, ({ messages }) => messages.at(-1)?.outcome !== undefined);
  return { ...proxy, chat, clock, last, ended };
}

/** Creates a storage whose page was closed after two events of a response. */
async function createInterruptedStorage(
  events: readonly string[],
  change?: (message: ChatMessage) => object,
) {
  const storage = memoryStorage();
  const cut = new TextEncoder().encode(addIds(events.slice(0, 2))).length;
  const before = openPage(storage, events, [{ bytes: cut, ending: "silence" }]);
  before.chat.subscribe(() => {});
  void before.chat.send("Hello");
  await waitUntilIdle();
  await before.clock.advance(1000);
  await before.clock.advance(1000);
  expect(before.last()?.content).toBe("one two ");
  return copyAsClosedPage(storage, change);
}

const counted = [...["one ", "two ", "three"].map((content) => frame({ content })), frame({}, "stop"), DONE];

describe("a chat with resumable streams", () => {
  test("continues after a lost connection without a visible trace", async () => {
    const { chat, last, attempts } = openPage(memoryStorage(), counted, [{ bytes: 300, ending: "drop" }]);
    const { outcome } = await chat.send("Hello");
    expect(outcome).toBe("complete");
    expect(last()).toMatchObject({ content: "one two three", outcome: "complete" });
    expect(last()).not.toHaveProperty("streamId");
    expect(attempts()[0]).toBe("POST");
    expect(
      attempts()
        .slice(1)
        .every((one) => one.startsWith("GET")),
    ).toBe(true);
  });

  test("stores the stream id while the response is in flight", async () => {
    const left = await createInterruptedStorage(counted);
    const records = [...(await left.storage.read(`chat/${left.id}`)).values()] as {
      message?: ChatMessage;
    }[];
    expect(records.find(({ message }) => message?.role === "assistant")?.message).toMatchObject({
      content: "one two ",
      streamId: "s-1",
    });
  });

  test("stores the stream id with the first text, because the page may be killed", async () => {
    const storage = memoryStorage();
    const cut = new TextEncoder().encode(addIds(counted.slice(0, 1))).length;
    const { chat, clock, last } = openPage(storage, counted, [{ bytes: cut, ending: "silence" }]);
    chat.subscribe(() => {});
    void chat.send("Hello");
    await waitUntilIdle();
    await clock.advance(50);
    await waitUntilIdle();
    expect(last().content).toBe("one ");
    expect(JSON.stringify([...(await storage.read("chat/a")).values()])).toContain('"streamId":"s-1"');
  });

  test("ends a response as interrupted without Web Locks when its tab is closed, because two tabs could continue it", async () => {
    vi.stubGlobal("navigator", undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    const left = await createInterruptedStorage(counted);
    const after = openPage(left.storage, counted, [], left);
    after.chat.subscribe(() => {});
    await after.ended();
    expect(after.last()).toMatchObject({
      content: "one two ",
      outcome: "truncated",
      error: { name: "StreamError", reason: "interrupted" },
    });
    expect(after.attempts()).toEqual([]);
  });
});

describe("a reloaded chat", () => {
  test("continues a response of a closed tab without another request to the model", async () => {
    const left = await createInterruptedStorage(counted);
    const after = openPage(left.storage, counted, [], left);
    const texts: string[] = [];
    after.chat.subscribe(() => texts.push(after.last()?.content));
    await after.ended();
    expect(after.last()).toMatchObject({ content: "one two three", outcome: "complete" });
    expect(after.last()).not.toHaveProperty("streamId");
    expect(after.chat.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
    expect(after.attempts()).toEqual(["GET"]);
    // the shown text never shrinks while it arrives again
    expect(texts.every((text) => text === undefined || text.startsWith("one two "))).toBe(true);
    await waitUntilIdle();
    expect(JSON.stringify([...(await left.storage.read(`chat/${left.id}`)).values()])).not.toContain(
      "streamId",
    );
    const third = openPage(left.storage, counted, [], left);
    third.chat.subscribe(() => {});
    await third.ended();
    expect(third.attempts()).toEqual([]);
  });

  test("shows the response as in flight while it arrives", async () => {
    const left = await createInterruptedStorage(counted);
    const after = openPage(left.storage, counted, [{ bytes: 400, ending: "silence" }], left);
    after.chat.subscribe(() => {});
    await waitForRequests(after.requests, 1);
    await after.clock.advance(100);
    expect(after.chat.getSnapshot().status).toBe("streaming");
    expect(after.last()).toMatchObject({ content: "one two " });
    expect(after.last().outcome).toBeUndefined();
  });

  test("shows the earlier reasoning until it has arrived again", async () => {
    const left = await createInterruptedStorage(counted, (message) => ({
      ...message,
      content: "",
      reasoning: "Hm, hm",
    }));
    const thinking = [frame({ reasoning_content: "Hm, " }), frame({ reasoning_content: "hm" }), ...counted];
    const bytes = new TextEncoder().encode(addIds(thinking.slice(0, 1))).length;
    const after = openPage(left.storage, thinking, [{ bytes, ending: "silence" }], left);
    after.chat.subscribe(() => {});
    await waitUntilIdle();
    await after.clock.advance(100);
    expect(after.chat.getSnapshot().status).toBe("streaming");
    expect(after.last()).toMatchObject({ content: "", reasoning: "Hm, hm" });
  });

  test("stores the stream id before the first text", async () => {
    const storage = memoryStorage();
    const { chat, clock, last } = openPage(storage, counted, [{ bytes: 0, ending: "silence" }]);
    void chat.send("Hello");
    await waitUntilIdle();
    // triggers another read; in a page, `pagehide` is enough
    chat.switchBranch(last().id);
    await clock.advance(1000);
    await waitUntilIdle();
    expect(JSON.stringify([...(await storage.read("chat/a")).values()])).toContain('"streamId":"s-1"');
  });

  test("continues after another lost connection from the last event of this read", async () => {
    const left = await createInterruptedStorage(counted);
    const bytes = new TextEncoder().encode(addIds(counted.slice(0, 1))).length;
    const after = openPage(left.storage, counted, [{ bytes, ending: "end" }], left);
    after.chat.subscribe(() => {});
    await after.ended();
    expect(after.last()).toMatchObject({ content: "one two three", outcome: "complete" });
    expect(after.attempts()).toEqual(["GET", "GET after 1"]);
  });

  test("shows a response that the proxy no longer stores as interrupted", async () => {
    const left = await createInterruptedStorage(counted);
    const after = openPage(left.storage, counted, [gone()], left);
    after.chat.subscribe(() => {});
    await after.ended();
    expect(after.last()).toMatchObject({
      content: "one two ",
      outcome: "truncated",
      error: { name: "StreamError", reason: "interrupted" },
    });
    expect(after.last()).not.toHaveProperty("streamId");
    expect(after.attempts()).toEqual(["GET"]);
  });

  test("shows a response of a closed page as interrupted without `resume`, and sends nothing", async () => {
    const left = await createInterruptedStorage(counted);
    const { client, requests } = createTestClient(() => streamResponse(addIds(counted)));
    const chat = createChatStore(client, { model: "alpha-v4.1-flash", ...left } as ChatStoreOptions);
    chat.subscribe(() => {});
    await until(chat, ({ messages }) => messages.at(-1)?.outcome !== undefined);
    expect(chat.getSnapshot().messages.at(-1)).toMatchObject({
      content: "one two ",
      outcome: "truncated",
      error: { name: "StreamError", reason: "interrupted" },
    });
    expect(requests).toEqual([]);
  });

  test("shows a response that was interrupted at the proxy, with the longer text", async () => {
    const left = await createInterruptedStorage(counted);
    const lost = [counted[0] as string, writeError("stream_interrupted").trimStart()];
    const after = openPage(left.storage, lost, [], left);
    after.chat.subscribe(() => {});
    await after.ended();
    expect(after.last()).toMatchObject({
      content: "one two ",
      outcome: "truncated",
      error: { name: "StreamError", reason: "interrupted" },
    });
    expect(after.attempts()).toEqual(["GET"]);
  });

  test("shows the error of the response", async () => {
    const left = await createInterruptedStorage(counted);
    const failed = [...counted.slice(0, 3), writeError("upstream_idle").trimStart()];
    const after = openPage(left.storage, failed, [], left);
    after.chat.subscribe(() => {});
    await after.ended();
    expect(after.last()).toMatchObject({ content: "one two three", outcome: "error" });
    expect(after.last().error).toMatchObject({ code: "upstream_idle" });
  });

  test("runs the tools of a continued response once, and sends their results", async () => {
    const calls = [counted[0], counted[1], streamCalls({ c1: ["add", '{"a":1}'] })] as string[];
    const split = calls.flatMap((text) => text.split(/(?<=\n\n)/));
    const left = await createInterruptedStorage(split);
    let runs = 0;
    const add = defineTool({
      name: "add",
      description: "adds",
      inputSchema: { type: "object" },
      execute: () => {
        runs += 1;
        return 3;
      },
    });
    const proxy = resumingClient((request) => {
      if (request.method === "GET") return streamResponse(addIds(split));
      return streamResponse(streamText("three"));
    });
    const options = { model: "alpha-v4.1-flash", tools: [add], ...left } as unknown as ChatStoreOptions;
    const chat = createChatStore(proxy.client, options);
    chat.subscribe(() => {});
    await until(chat, ({ messages, status }) => status === "ready" && messages.at(-1)?.content === "three");
    expect(proxy.requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
    expect(runs).toBe(1);
    expect(chat.getSnapshot().messages.map(({ outcome }) => outcome)).toEqual([
      undefined,
      "tool-calls",
      "complete",
    ]);
  });

  test("stop() stops the response at the proxy", async () => {
    const left = await createInterruptedStorage(counted);
    const after = openPage(left.storage, counted, [{ bytes: 0, ending: "silence" }], left);
    after.chat.subscribe(() => {});
    await waitForRequests(after.requests, 1);
    await waitUntilIdle();
    after.chat.stop();
    expect(after.last()).toMatchObject({ content: "one two ", outcome: "stopped" });
    await waitForRequests(after.requests, 2);
    expect(after.attempts()).toEqual(["GET", "DELETE"]);
  });

  test.each([
    ["no id", { streamId: 7 }],
    ["another path", { streamId: "../models" }],
  ])("requests nothing if the storage has %s", async (_, change) => {
    const left = await createInterruptedStorage(counted, (message) => ({ ...message, ...change }));
    const after = openPage(left.storage, counted, [], left);
    after.chat.subscribe(() => {});
    await after.ended();
    expect(after.last()).toMatchObject({
      content: "one two ",
      outcome: "truncated",
      error: { name: "StreamError", reason: "interrupted" },
    });
    expect(after.attempts()).toEqual([]);
  });

  test("does not resume a response that is not the last shown message", async () => {
    const left = await createInterruptedStorage(counted);
    const chat = `chat/${left.id}`;
    const records = await left.storage.read(chat);
    const [responseId] = [...records].find(([, record]) => JSON.stringify(record)?.includes("s-1")) ?? [];
    await left.storage.write(
      chat,
      new Map<string, unknown>([
        [
          "later",
          {
            message: { id: "later", role: "user", content: "And?", createdAt: 1 },
            parent: responseId,
            revision: 0,
          },
        ],
        ["/leaf", "later"],
      ]),
    );
    const after = openPage(left.storage, counted, [], left);
    after.chat.subscribe(() => {});
    await until(after.chat, ({ messages }) => messages.at(-2)?.outcome !== undefined);
    expect(after.chat.getSnapshot().messages.at(-2)).toMatchObject({
      content: "one two ",
      outcome: "truncated",
      error: { name: "StreamError", reason: "interrupted" },
    });
    expect(after.chat.getSnapshot().messages.at(-2)).not.toHaveProperty("streamId");
    expect(after.attempts()).toEqual([]);
  });

  test("resumes nothing after close", async () => {
    const left = await createInterruptedStorage(counted);
    let reads = 0;
    let goOn: () => void = () => {};
    const again = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const storage: ChatStorage = {
      ...left.storage,
      async read(collection) {
        reads += 1;
        if (reads > 1) await again;
        return left.storage.read(collection);
      },
    };
    const after = openPage(storage, counted, [], { id: left.id });
    after.chat.subscribe(() => {});
    await waitUntil(() => reads === 2);
    after.chat.close();
    goOn();
    await waitUntilIdle();
    expect(after.attempts()).toEqual([]);
  });

  test("continues the response in one of two tabs", async () => {
    const left = await createInterruptedStorage(counted);
    const pages = [openPage(left.storage, counted, [], left), openPage(left.storage, counted, [], left)];
    for (const { chat } of pages) chat.subscribe(() => {});
    for (const { ended, last } of pages) {
      await ended();
      expect(last()).toMatchObject({ content: "one two three", outcome: "complete" });
    }
    expect(pages.flatMap(({ attempts }) => attempts())).toEqual(["GET"]);
  });

  test("continues the response in one of two tabs, even with a slow storage", async () => {
    const left = await createInterruptedStorage(counted);
    const storage: ChatStorage = {
      ...left.storage,
      write: async (...change) => {
        await waitUntilIdle();
        await left.storage.write(...change);
      },
    };
    const pages = [openPage(storage, counted, [], left), openPage(storage, counted, [], left)];
    for (const { chat } of pages) chat.subscribe(() => {});
    for (const { ended } of pages) await ended();
    await waitUntilIdle();
    expect(pages.flatMap(({ attempts }) => attempts())).toEqual(["GET"]);
  });
});

/** Waits for `count` requests. Code that is loaded on demand takes some time of the real clock. */
async function waitForRequests(requests: readonly Request[], count: number): Promise<void> {
  await waitUntil(() => requests.length >= count);
}

/** Waits until only the clock can cause changes. Loading code takes several tasks. */
async function waitUntilIdle(): Promise<void> {
  for (let nth = 0; nth < 10; nth += 1) await waitForTurn();
}

describe("A chat whose resumable stream is temporarily unreachable", () => {
  const refused = (status: number) => () =>
    Response.json({ error: { message: "sign in", code: "expired" } }, { status });

  /** Creates a chat whose first response is lost after two events and then gets `refusals`. Later requests get the rest. */
  function openCutChat(refusals: readonly (() => Response | Error)[], storage = memoryStorage()) {
    const given = [
      { bytes: new TextEncoder().encode(addIds(counted.slice(0, 2))).length, ending: "drop" as const },
      ...refusals.map((make) => make()),
    ];
    const { chat, clock, attempts, last } = openPage(storage, counted, given);
    const after = (turn: Promise<unknown>) => clock.advanceUntil(turn, 1000);
    return { chat, after, attempts, last, storage };
  }

  test.each([401, 403, 503])(
    "After %i it keeps the stream id, shows the reason, and its retry is free",
    async (status) => {
      const { chat, after, attempts, last, storage } = openCutChat(
        Array.from({ length: status < 500 ? 2 : 5 }, () => refused(status)),
      );
      await after(chat.send("Hello"));
      expect(last()).toMatchObject({
        outcome: "truncated",
        content: "one two ",
        streamId: "s-1",
        error: { name: "StreamError", cause: { status } },
      });
      const { id } = last();
      const turn = await after(chat.retry());
      expect(turn).toMatchObject({ outcome: "complete", messages: [{ id, content: "one two three" }] });
      expect(last()).toMatchObject({ id, outcome: "complete", content: "one two three" });
      expect([last().streamId, last().error]).toEqual([undefined, undefined]);
      expect(attempts().filter((each) => each === "POST")).toHaveLength(1);
      const stored = JSON.stringify([...(await storage.read("chat/a")).values()]);
      expect(stored).not.toContain("s-1");
    },
  );

  test("The stream id is stored, and a retry after a reload is free", async () => {
    const before = openCutChat([refused(401), refused(401)]);
    await before.after(before.chat.send("Hello"));
    before.chat.close();
    const { chat, clock, attempts, last } = openPage(before.storage, counted, []);
    expect(await clock.advanceUntil(chat.retry(), 1000)).toMatchObject({ outcome: "complete" });
    expect(last()).toMatchObject({ outcome: "complete", content: "one two three" });
    expect(attempts()).toEqual(["GET"]);
  });

  test("A retry that fails again keeps the text and the stream id, and the next retry is free", async () => {
    const { chat, after, attempts, last } = openCutChat(Array.from({ length: 4 }, () => refused(401)));
    await after(chat.send("Hello"));
    expect(await after(chat.retry())).toMatchObject({
      outcome: "truncated",
      error: { cause: { status: 401 } },
    });
    expect(last()).toMatchObject({ outcome: "truncated", content: "one two ", streamId: "s-1" });
    expect(await after(chat.retry())).toMatchObject({ outcome: "complete" });
    expect(attempts().filter((each) => each === "POST")).toHaveLength(1);
  });

  test("A retry requests another response if the proxy has lost the first", async () => {
    const { chat, after, attempts, last } = openCutChat([refused(401), refused(401), gone]);
    await after(chat.send("Hello"));
    const { id } = last();
    const turn = await after(chat.retry());
    expect(turn).toMatchObject({ outcome: "complete", messages: [{ content: "one two three" }] });
    expect(last().id).not.toBe(id);
    expect(last().branches).toEqual([id, last().id]);
    expect(attempts()).toEqual(["POST", "GET after 2", "GET after 2", "GET", "POST"]);
  });

  test("A retry of a response that ended with an error at the proxy requests another response", async () => {
    const { chat, after, attempts } = openCutChat([gone]);
    await after(chat.send("Hello"));
    expect(await after(chat.retry())).toMatchObject({ outcome: "complete" });
    expect(attempts()).toEqual(["POST", "GET after 2", "POST"]);
  });

  test("stop() during such a retry keeps the text, and stops the response at the proxy", async () => {
    const { chat, after, attempts, last } = openCutChat([refused(401), refused(401), refused(503)]);
    await after(chat.send("Hello"));
    const turn = chat.retry();
    await waitUntilIdle();
    chat.stop();
    expect(await turn).toMatchObject({ outcome: "stopped" });
    expect(last()).toMatchObject({ outcome: "stopped", content: "one two " });
    expect(last().streamId).toBeUndefined();
    await expect.poll(() => attempts().at(-1)).toBe("DELETE");
  });
});
