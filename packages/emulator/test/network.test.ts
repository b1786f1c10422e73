import { describe, expect, test } from "vitest";
import {
  createFastEmulator,
  createLeapingClock,
  createRequest,
  KEY,
  post,
  readFrames,
  URL_OF_CHAT,
} from "./support.js";

const streamed = createRequest("Tell me about tea", { stream: true });

/** A clock whose sleeps end only by an abort. `asleep` resolves when the first sleep begins. */
function createSleepingClock() {
  let resolveAsleep = (_: AbortSignal | undefined) => {};
  const asleep = new Promise<AbortSignal | undefined>((resolve) => {
    resolveAsleep = resolve;
  });
  const sleep = (_: number, signal?: AbortSignal) =>
    new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
      resolveAsleep(signal);
    });
  return { asleep, now: () => 0, sleep };
}

function getReader(response: Response): ReadableStreamDefaultReader<Uint8Array> {
  return (response.body as ReadableStream<Uint8Array>).getReader();
}

describe("a stream", () => {
  test("writes a frame only when the reader pulls", async () => {
    const emulator = createFastEmulator();
    const reader = getReader(await post(emulator, streamed));
    expect(emulator.requests[0]).toMatchObject({ deltas: 0, finished: false });
    for (let frame = 0; frame < 4; frame++) await reader.read();
    expect(emulator.requests[0]).toMatchObject({ deltas: 3, finished: false });
  });

  test("fails with the signal's reason when the request aborts between two reads", async () => {
    const emulator = createFastEmulator();
    const controller = new AbortController();
    const reader = getReader(await post(emulator, streamed, { signal: controller.signal }));
    await reader.read();
    controller.abort();
    await expect(reader.read()).rejects.toMatchObject({ name: "AbortError" });
    expect(emulator.requests[0]).toMatchObject({ deltas: 0, aborted: true, finished: false });
  });

  test("fails when the request aborts while the reader waits", async () => {
    const controller = new AbortController();
    const clock = createSleepingClock();
    const emulator = createFastEmulator({ clock, speed: 1 });
    const reader = getReader(await post(emulator, streamed, { signal: controller.signal }));
    await reader.read();
    const next = reader.read();
    await clock.asleep;
    controller.abort(new Error("too slow"));
    await expect(next).rejects.toThrow("too slow");
    expect(emulator.requests[0]).toMatchObject({ deltas: 0, aborted: true });
  });

  test("stops waiting when cancelled, and is recorded as aborted", async () => {
    const clock = createSleepingClock();
    const emulator = createFastEmulator({ clock, speed: 1 });
    const reader = getReader(await post(emulator, streamed));
    await reader.read();
    const next = reader.read();
    const signal = await clock.asleep;
    await reader.cancel();
    expect((await next).done).toBe(true);
    expect(signal?.aborted).toBe(true);
    expect(emulator.requests[0]).toMatchObject({ aborted: true, finished: false });
  });

  test("A stream that was read to its end is finished, and a later abort changes nothing", async () => {
    const emulator = createFastEmulator();
    const controller = new AbortController();
    await readFrames(await post(emulator, streamed, { signal: controller.signal }));
    controller.abort();
    expect(emulator.requests[0]).toMatchObject({ aborted: false, finished: true });
  });
});

test("a request that has been aborted is not received at all", async () => {
  const emulator = createFastEmulator();
  await expect(post(emulator, streamed, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    name: "AbortError",
  });
  expect(emulator.requests).toHaveLength(0);
});

test("an abort ends the wait for a response without a stream", async () => {
  const controller = new AbortController();
  const clock = createSleepingClock();
  const emulator = createFastEmulator({ clock, speed: 1 });
  const response = post(emulator, createRequest("Tell me about tea"), { signal: controller.signal });
  await clock.asleep;
  controller.abort();
  await expect(response).rejects.toMatchObject({ name: "AbortError" });
  expect(emulator.requests[0]).toMatchObject({ aborted: true, finished: false });
});

describe("the network", () => {
  test("rejects a refused connection as fetch does", async () => {
    const emulator = createFastEmulator({ faults: () => "refuse" });
    await expect(post(emulator, createRequest("hi"))).rejects.toBeInstanceOf(TypeError);
    expect(emulator.requests[0]).toMatchObject({ status: undefined, aborted: false, finished: false });
  });

  test("fails only the requests that the option chooses, by path and by number", async () => {
    const emulator = createFastEmulator({
      faults: ({ path }, nth) => (path !== "/" && nth < 3 ? "refuse" : undefined),
    });
    await expect(post(emulator, createRequest("hi"))).rejects.toThrow();
    await expect(post(emulator, createRequest("hi"))).rejects.toThrow();
    expect((await post(emulator, createRequest("hi"))).status).toBe(200);
    emulator.reset();
    expect((await emulator.fetch("https://gateway.test/")).status).toBe(200);
    await expect(post(emulator, createRequest("hi"))).rejects.toThrow();
  });

  test("hangs until the request aborts", async () => {
    const emulator = createFastEmulator({ faults: () => "hang" });
    const controller = new AbortController();
    const response = post(emulator, createRequest("hi"), { signal: controller.signal });
    controller.abort(new Error("no patience"));
    await expect(response).rejects.toThrow("no patience");
  });

  test("resets a stream within its frames", async () => {
    const emulator = createFastEmulator({ faults: () => "reset" });
    const { frames, failure } = await readFrames(await post(emulator, streamed));
    expect(frames).toHaveLength(3);
    expect(failure).toBeInstanceOf(TypeError);
    expect(emulator.requests[0]).toMatchObject({ status: 200, aborted: false, finished: false });
  });

  test("resets a JSON response halfway", async () => {
    const emulator = createFastEmulator({ faults: () => "reset" });
    const reader = getReader(await post(emulator, createRequest("hi")));
    expect((await reader.read()).value?.length).toBeGreaterThan(100);
    await expect(reader.read()).rejects.toBeInstanceOf(TypeError);
  });
});

describe("the record of a request", () => {
  test("has the request and its result, without the key", async () => {
    const emulator = createFastEmulator({ clock: createLeapingClock() });
    const response = await post(emulator, createRequest("hi"));
    const [record] = emulator.requests;
    expect(record).toEqual({
      id: response.headers.get("x-request-id"),
      method: "POST",
      path: "/v1/chat/completions",
      headers: { authorization: "[redacted]", "content-type": "application/json" },
      body: createRequest("hi"),
      at: Date.UTC(2026, 2, 14),
      endedAt: expect.any(Number),
      unknownFields: [],
      faults: [],
      unknownFaults: [],
      status: 200,
      deltas: 0,
      aborted: false,
      finished: true,
    });
    expect(JSON.stringify(emulator.requests)).not.toContain(KEY);
  });

  test("has a body that is not JSON as text, and undefined without a body", async () => {
    const emulator = createFastEmulator();
    await post(emulator, "{oops");
    await emulator.fetch("https://gateway.test/");
    expect(emulator.requests.map(({ body }) => body)).toEqual(["{oops", undefined]);
  });

  test("is one of the last 1,000, or of as many as maxRequests says", async () => {
    const emulator = createFastEmulator({ maxRequests: 3 });
    const { requests } = emulator;
    const usual = createFastEmulator();
    for (let index = 0; index < 1010; index++) await usual.fetch(`https://gateway.test/${index}`);
    for (let index = 0; index < 5; index++) await emulator.fetch(`https://gateway.test/${index}`);
    expect(requests.map(({ path }) => path)).toEqual(["/2", "/3", "/4"]);
    expect(usual.requests).toHaveLength(1000);
    expect(usual.requests[0]?.path).toBe("/10");
  });
});

describe("fetch", () => {
  const init = {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify(createRequest("hi")),
  };
  test.each<[string, () => Parameters<ReturnType<typeof createFastEmulator>["fetch"]>]>([
    ["a string and an init", () => [URL_OF_CHAT, init]],
    ["a URL and an init", () => [new URL(URL_OF_CHAT), init]],
    ["a Request", () => [new Request(URL_OF_CHAT, init)]],
    [
      "a Request and a server's second argument",
      () => [new Request(URL_OF_CHAT, init), { remoteAddr: {} } as RequestInit],
    ],
    ["a Request and an init", () => [new Request(URL_OF_CHAT, { method: "POST" }), init]],
  ])("accepts %s, detached from the emulator", async (_, input) => {
    const { fetch } = createFastEmulator();
    expect((await fetch(...input())).status).toBe(200);
  });

  test("follows the signal of a Request", async () => {
    const controller = new AbortController();
    const emulator = createFastEmulator();
    const request = new Request(URL_OF_CHAT, {
      ...init,
      body: JSON.stringify(streamed),
      signal: controller.signal,
    });
    const reader = getReader(await emulator.fetch(request));
    await reader.read();
    controller.abort();
    await expect(reader.read()).rejects.toMatchObject({ name: "AbortError" });
  });
});
