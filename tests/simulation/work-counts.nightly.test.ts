import { createHook } from "node:async_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Clock, createClient, streamChat } from "@sluice/core";
import { createPartialJSON } from "@sluice/core/partial-json";
import { createChatStore } from "@sluice/stores";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { createResponse, makeEvents, splitReads } from "../../bench/workload.ts";

/*
 * Bounds of work that can be counted: they hold on every machine. Times are measured in `bench/`.
 */

const question = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } as const;

/** A client that gets this many frames, in reads of this size. */
function createClientFor(frames: number, size: Parameters<typeof splitReads>[1], clock?: Clock) {
  const reads = splitReads(makeEvents(frames), size);
  return createClient({ baseURL: "https://gateway.test", fetch: async () => createResponse(reads), clock });
}

async function read(client: ReturnType<typeof createClientFor>): Promise<void> {
  const stream = streamChat(client, question);
  for await (const _ of stream);
}

/** Counts the promises that are made while `work` runs. */
async function countPromises(work: () => Promise<void>): Promise<number> {
  let promises = 0;
  const hook = createHook({
    init(_, type) {
      if (type === "PROMISE") promises += 1;
    },
  });
  hook.enable();
  await work();
  hook.disable();
  return promises;
}

// loads the code that a first call loads
beforeAll(async () => {
  await read(createClientFor(10, "one frame"));
  await vi.dynamicImportSettled();
});
afterEach(() => void vi.restoreAllMocks());

test("most frames of a stream are read without JSON.parse", async () => {
  const client = createClientFor(1000, 65_536);
  const parse = vi.spyOn(JSON, "parse");
  await read(client);
  expect(parse.mock.calls.length).toBeLessThan(150);
});

test("a stream costs few promises for each delta, and for each read", async () => {
  const large = createClientFor(4000, 65_536);
  expect(await countPromises(() => read(large))).toBeLessThan(4000 * 4);
  const single = createClientFor(4000, "one frame");
  expect(await countPromises(() => read(single))).toBeLessThan(4000 * 10);
});

test("four times the frames cost four times the promises", async () => {
  const [small, large] = [createClientFor(1000, 4096), createClientFor(4000, 4096)];
  const few = await countPromises(() => read(small));
  const many = await countPromises(() => read(large));
  expect(many / few).toBeLessThan(4.2);
});

test("a chat notifies its subscribers once in 50 ms, however many deltas come", async () => {
  let now = 0;
  const sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    sleep: (ms) => new Promise((wake) => sleepers.push({ at: now + ms, wake })),
  };
  const events = makeEvents(2000);
  const reads = splitReads(events, "one frame");
  let at = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        // one millisecond for each frame
        now += 1;
        for (const sleeper of sleepers) if (sleeper.at <= now) sleeper.wake();
        const bytes = reads[at++];
        if (bytes) controller.enqueue(bytes);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
  const chat = createChatStore(createClient({ baseURL: "https://gateway.test", fetch, clock }), {
    model: "delta-5.3",
  });
  let notifications = 0;
  chat.subscribe(() => {
    notifications += 1;
  });
  const { outcome } = await chat.send("Hello");
  expect(outcome).toBe("complete");
  expect(now).toBeGreaterThanOrEqual(2000);
  expect(notifications).toBeLessThan(2000 / 50 + 8);
});

/** Bytes of the heap that are in use after collecting garbage. */
function measureHeldBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

test("a response holds a few times its text while it streams", async () => {
  const client = createClientFor(50_000, 65_536);
  const stream = streamChat(client, question);
  const before = measureHeldBytes();
  let peak = 0;
  let deltas = 0;
  for await (const _ of stream) {
    deltas += 1;
    if (deltas % 16_000 === 0) peak = Math.max(peak, measureHeldBytes() - before);
  }
  const { content, reasoning_content: reasoning = "" } = stream.snapshot;
  // two bytes for each character; a tree of deltas needs twenty
  expect(peak / (content.length + reasoning.length)).toBeLessThan(8);
});

test("a response that waits for its next read holds none of the reads before", async () => {
  const count = 50;
  const frames = makeEvents(401).slice(0, 400);
  const read = new TextEncoder().encode(frames.join(""));
  const client = createClient({
    baseURL: "https://gateway.test",
    fetch: async () =>
      new Response(new ReadableStream({ start: (body) => body.enqueue(read.slice()) }), {
        headers: { "content-type": "text/event-stream" },
      }),
  });
  const before = measureHeldBytes();
  const streams = Array.from({ length: count }, () => streamChat(client, question));
  await Promise.all(
    streams.map(async (stream) => {
      const deltas = stream[Symbol.asyncIterator]();
      for (let taken = 0; taken < 390; taken += 1) await deltas.next();
    }),
  );
  expect(streams[0]?.snapshot.content.length).toBeGreaterThan(100);
  const each = (measureHeldBytes() - before) / count;
  for (const stream of streams) stream.abort();
  // the text of the read alone needs two bytes for each character
  expect(each).toBeLessThan(read.length);
});

test("partial JSON is copied when it is read, and not with each piece", () => {
  const document = createPartialJSON();
  const slice = vi.spyOn(Array.prototype, "slice");
  const assign = vi.spyOn(Object, "assign");
  document.push('{"items":[');
  for (let id = 0; id < 1000; id += 1) for (const piece of ['{"id":', `${id}`, "},"]) document.push(piece);
  expect([slice.mock.calls.length, assign.mock.calls.length]).toEqual([0, 0]);
  expect(document.value).toHaveProperty("items.999.id", 999);
  expect(document.value).toBe(document.value);
  expect([slice.mock.calls.length, assign.mock.calls.length]).toEqual([1, 1]);
});
