import { type ChatDelta, createClient, streamChat, toResponse } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { describe, expect, test } from "vitest";
import {
  catchError,
  createTestClient,
  DONE,
  frame,
  openBody,
  question,
  settled,
  streamResponse,
} from "./support/gateway.js";

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const parts = Array.from({ length: 20 }, (_, nth) => `part ${nth} `);
const text = parts.join("");
const deltasOfAll = [
  ...parts.map((part) => ({ type: "text-delta", text: part })),
  { type: "usage", usage },
  { type: "finish", finishReason: "stop", outcome: "complete" },
];

/** A gateway that gives one frame for each read. */
function streamFrames(frames: readonly string[]) {
  const encoder = new TextEncoder();
  return createTestClient(() => streamResponse(frames.map((each) => encoder.encode(each)))).client;
}

const whole = [...parts.map((content) => frame({ content })), frame({}, "stop", { usage }), DONE];

/** The same response in many reads and in one. */
const gateways: [string, () => ReturnType<typeof streamFrames>][] = [
  ["one frame a read", () => streamFrames(whole)],
  ["one read", () => streamFrames([whole.join("")])],
];

async function collectRest(iterator: AsyncIterator<ChatDelta, undefined>): Promise<ChatDelta[]> {
  const deltas: ChatDelta[] = [];
  for (let step = await iterator.next(); !step.done; step = await iterator.next()) deltas.push(step.value);
  return deltas;
}

describe.each(gateways)("result() settles, with %s,", (_, gateway) => {
  test("The result is ready at the delta `finish`", async () => {
    const stream = streamChat(gateway(), question);
    const deltas: ChatDelta[] = [];
    for await (const delta of stream) {
      deltas.push(delta);
      if (delta.type === "finish") expect((await stream.result()).message.content).toBe(text);
    }
    expect(deltas).toEqual(deltasOfAll);
  });

  test("The result is ready at the first delta, and the loop still gets every delta in order", async () => {
    const stream = streamChat(gateway(), question);
    const deltas: ChatDelta[] = [];
    for await (const delta of stream) {
      if (deltas.length === 0)
        expect(await stream.result()).toMatchObject({ message: { content: text }, usage });
      deltas.push(delta);
    }
    expect(deltas).toEqual(deltasOfAll);
  });

  test("Each result() in a loop returns the same result", async () => {
    const stream = streamChat(gateway(), question);
    const turns = new Set<unknown>();
    let count = 0;
    for await (const _ of stream) {
      for (const turn of await Promise.all([stream.result(), stream.result()])) turns.add(turn);
      count += 1;
    }
    expect([turns.size, count]).toEqual([1, deltasOfAll.length]);
  });

  test("A loop beside a result() gets every delta, in any order of the calls", async () => {
    for (const isFirst of [true, false]) {
      const stream = streamChat(gateway(), question);
      const before = isFirst ? stream.result() : undefined;
      const iterator = stream[Symbol.asyncIterator]();
      const result = before ?? stream.result();
      expect(await collectRest(iterator)).toEqual(deltasOfAll);
      expect((await result).message.content).toBe(text);
    }
  });

  test("Concurrent reads get every delta in order beside a result()", async () => {
    const stream = streamChat(gateway(), question);
    const iterator = stream[Symbol.asyncIterator]();
    const early = Array.from({ length: 5 }, () => iterator.next());
    const result = stream.result();
    const late = Array.from({ length: deltasOfAll.length }, () => iterator.next());
    const steps = await Promise.all([...early, ...late]);
    expect(steps.slice(0, deltasOfAll.length).map(({ value }) => value)).toEqual(deltasOfAll);
    expect(steps.slice(deltasOfAll.length).every(({ done }) => done)).toBe(true);
    expect((await result).outcome).toBe("complete");
  });

  test("Leaving a loop rejects the result with an AbortError, even of an earlier result()", async () => {
    const stream = streamChat(gateway(), question);
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return?.();
    const isWhole = gateway === gateways[1]?.[1];
    if (isWhole) expect((await stream.result()).message.content).toBe(text);
    else expect(await catchError(stream.result())).toMatchObject({ name: "AbortError" });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test("A loop that begins after an awaited result() is refused", async () => {
    const stream = streamChat(gateway(), question);
    expect((await stream.result()).message.content).toBe(text);
    expect(() => stream[Symbol.asyncIterator]()).toThrow("already read by result()");
  });

  test("A second loop is refused, also after a result()", async () => {
    const stream = streamChat(gateway(), question);
    const iterator = stream[Symbol.asyncIterator]();
    await iterator.next();
    await stream.result();
    expect(() => stream[Symbol.asyncIterator]()).toThrow("already read by a loop");
    expect(await collectRest(iterator)).toEqual(deltasOfAll.slice(1));
  });

  test("A text stream gives the whole text beside a result()", async () => {
    const stream = streamChat(gateway(), question);
    const reader = stream.textStream.getReader();
    const first = await reader.read();
    expect((await stream.result()).message.content).toBe(text);
    let read = first.value ?? "";
    for (let step = await reader.read(); !step.done; step = await reader.read()) read += step.value;
    expect(read).toBe(text);
  });

  test("An unread response does not block result()", async () => {
    const stream = streamChat(gateway(), question);
    const response = await toResponse(stream);
    expect((await stream.result()).message.content).toBe(text);
    const again = streamChat(createTestClient(() => response).client, question);
    expect((await again.result()).message.content).toBe(text);
  });

  test("A response with one slow consumer gives both consumers everything", async () => {
    const stream = streamChat(gateway(), question);
    const response = await toResponse(stream);
    const copy = response.clone();
    const fast = await streamChat(createTestClient(() => copy).client, question).result();
    const slow = await streamChat(createTestClient(() => response).client, question).result();
    expect([fast.message.content, slow.message.content]).toEqual([text, text]);
  });
});

describe("result() beside a loop that is paused", () => {
  /** A loop that has its first delta, and a result() behind it. */
  async function pauseStream() {
    const connection = openBody();
    const { client } = createTestClient(() => streamResponse(connection.body));
    const stream = streamChat(client, question);
    const iterator = stream[Symbol.asyncIterator]();
    connection.send(frame({ content: "one " }) + frame({ content: "two " }));
    expect((await iterator.next()).value).toMatchObject({ text: "one " });
    const result = stream.result();
    result.catch(() => {});
    await connection.wanted();
    return { connection, stream, iterator, result };
  }

  test("An error reaches the result at once, and the loop after the deltas before it", async () => {
    const { connection, iterator, result } = await pauseStream();
    connection.send(frame({ content: "three" }));
    await connection.wanted();
    connection.drop();
    const error = await catchError(result);
    expect(error).toMatchObject({ reason: "truncated", partial: { content: "one two three" } });
    const texts = [await iterator.next(), await iterator.next()].map(({ value }) => value);
    expect(texts).toMatchObject([{ text: "two " }, { text: "three" }]);
    expect(await catchError(iterator.next())).toBe(error);
  });

  test("An abort ends the result and the loop at once", async () => {
    const { connection, stream, iterator, result } = await pauseStream();
    stream.abort();
    const error = await catchError(result);
    expect(error).toMatchObject({ name: "AbortError" });
    expect(await catchError(iterator.next())).toBe(error);
    await settled();
    expect(connection.cancelled).toBe(true);
    expect(stream.snapshot.content).toBe("one two ");
  });

  test("Leaving the loop meanwhile rejects the result", async () => {
    const { iterator, result } = await pauseStream();
    await iterator.return?.();
    expect(await catchError(result)).toMatchObject({ name: "AbortError" });
  });

  test("A loop that waits for a delta gets it as soon as it comes", async () => {
    const { connection, iterator, result } = await pauseStream();
    expect((await iterator.next()).value).toMatchObject({ text: "two " });
    const waiting = iterator.next();
    connection.send(frame({ content: "three" }));
    expect((await waiting).value).toMatchObject({ text: "three" });
    connection.send(frame({}, "stop") + DONE);
    expect((await result).message.content).toBe("one two three");
    expect(await collectRest(iterator)).toMatchObject([{ type: "finish" }]);
  });
});

test("A response of the emulator is whole at `finish`, at the first delta, and with the loop behind it", async () => {
  const chat = () => ({ content: text, reasoning: "Hm." });
  const emulator = createEmulator({ chat, speed: 20 });
  const client = createClient({ baseURL: "https://gateway.test", fetch: emulator.fetch });
  for (const at of ["finish", "first"]) {
    const stream = streamChat(client, question);
    let read = "";
    let isFirst = true;
    for await (const delta of stream) {
      if (delta.type === at || (at === "first" && isFirst))
        expect((await stream.result()).message.content).toBe(text);
      isFirst = false;
      if (delta.type === "text-delta") read += delta.text;
    }
    expect(read).toBe(text);
  }
});
