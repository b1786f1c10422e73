import { createEmulator } from "@sluice/emulator";
import { readFaultCases } from "@sluice/emulator/faults";
import { serve } from "@sluice/emulator/serve";
import { describe, expect, onTestFinished, test } from "vitest";
import type { FaultCase } from "./observe-fault.js";
import { complete, createLeapingClock, createRequest, readFrames, readRefusal } from "./support.js";

const faultCases = readFaultCases();
const own = (responses: FaultCase["responses"]): FaultCase => ({
  name: "ours",
  group: "Ours",
  title: "A fault of our own",
  operation: "stream-chat",
  report: "our tests",
  responses,
  maxRequests: 1,
  right: [{ outcome: "error" }],
});

/** Sends a chat to a fault, `ours` or with a label `ours:two`. */
function post(
  emulator: Pick<ReturnType<typeof createEmulator>, "fetch">,
  name: string,
  init: RequestInit = {},
) {
  return emulator.fetch(`https://gateway.test/faults/${name}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify(createRequest("hi")),
    ...init,
  });
}

test("serves a fault at its address without a key", async () => {
  const emulator = createEmulator({ apiKeys: ["sk-test"], faultCases });
  const response = await post(emulator, "refused-detail");
  expect([response.status, await response.json()]).toEqual([
    422,
    { detail: "temperature must be at most 2" },
  ]);
});

test("lists the faults with their addresses, reports and right outcomes", async () => {
  const { fetch } = createEmulator({ faultCases });
  const { faults } = (await (await fetch("https://gateway.test/faults")).json()) as { faults: object[] };
  expect(faults).toHaveLength(faultCases.length);
  const one = {
    name: "cut-in-text",
    url: "https://gateway.test/faults/cut-in-text",
    path: "/v1/chat/completions",
    report: "A server that restarts, or a network that changes.",
    right: [{ outcome: "truncated", error: "truncated", billing: "maybe", text: "Hel" }],
  };
  expect(faults).toContainEqual(expect.objectContaining(one));
  expect(await (await fetch("https://gateway.test/faults/cut-in-text")).json()).toMatchObject(one);
});

test("uses no reply of a script for a fault", async () => {
  const script = { replies: [{ content: "scripted", times: 1 }] };
  const emulator = createEmulator({ faultCases, script, speed: Infinity });
  await post(emulator, "refused-detail");
  const completion = await complete(emulator, createRequest("hi"));
  expect(completion.choices[0]?.message.content).toBe("scripted");
});

test("names the nearest fault for a misspelt one", async () => {
  const response = await post(createEmulator({ faultCases }), "cut-in-txet");
  expect(response.status).toBe(404);
  expect(await readRefusal(response)).toMatchObject({
    code: "unknown_fault",
    message: "There is no fault cut-in-txet; did you mean `cut-in-text`? GET /faults lists all of them.",
  });
});

test("says how to serve faults if the emulator has none", async () => {
  const response = await post(createEmulator(), "cut-in-text");
  expect((await readRefusal(response)).message).toContain("readFaultCases()");
});

describe("successive requests", () => {
  const busy = own([{ status: 429 }, { status: 200, body: {} }]);

  test("get the responses in order, and then the last one again", async () => {
    const emulator = createEmulator({ faultCases: [busy] });
    const statuses = [];
    for (let sent = 0; sent < 3; sent += 1) statuses.push((await post(emulator, "ours")).status);
    expect(statuses).toEqual([429, 200, 200]);
  });

  test("begin again with another label, another body, and after reset()", async () => {
    const emulator = createEmulator({ faultCases: [busy] });
    expect((await post(emulator, "ours")).status).toBe(429);
    expect((await post(emulator, "ours:two")).status).toBe(429);
    expect((await post(emulator, "ours", { body: "{}" })).status).toBe(429);
    expect((await post(emulator, "ours")).status).toBe(200);
    emulator.reset();
    expect((await post(emulator, "ours")).status).toBe(429);
  });

  test("get the next response after a redirect", async () => {
    const served = await serve(createEmulator({ faultCases }), { port: 0 });
    onTestFinished(served.close);
    const url = `${served.url}/faults/redirect-on-the-gateway/v1/chat/completions`;
    const response = await fetch(url, { method: "POST", body: "{}" });
    expect([response.status, response.redirected]).toEqual([200, true]);
    expect(await response.text()).toContain("[DONE]");
  });

  test("are counted for each method", async () => {
    const cases = [own([{ method: "POST", status: 202 }, { method: "GET", status: 404 }, { status: 200 }])];
    const emulator = createEmulator({ faultCases: cases });
    const query = () => emulator.fetch("https://gateway.test/faults/ours/v1/video/generations/1");
    expect([(await query()).status, (await post(emulator, "ours")).status]).toEqual([404, 202]);
    expect([(await query()).status, (await post(emulator, "ours")).status]).toEqual([200, 200]);
  });
});

describe("a body", () => {
  test("is sent piece by piece, with the pauses and repeats of the fault", async () => {
    const clock = createLeapingClock();
    const pieces = [
      { text: ": hi\n\n", afterMs: 100, times: 3 },
      { base64: "5L0=" },
      { delta: { content: "x" } },
    ];
    const emulator = createEmulator({ clock, faultCases: [own([{ status: 200, afterMs: 50, pieces }])] });
    const response = await post(emulator, "ours");
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const read: Uint8Array[] = [];
    for await (const piece of response.body ?? []) read.push(piece);
    expect(read).toHaveLength(5);
    expect([...(read[3] ?? [])]).toEqual([0xe4, 0xbd]);
    expect(clock.sleeps).toEqual([50, 100, 100, 100]);
  });

  test("breaks the connection of any client if it is cut", async () => {
    const served = await serve(createEmulator({ faultCases }), { port: 0 });
    onTestFinished(served.close);
    const response = await fetch(`${served.url}/faults/cut-in-text/v1/chat/completions`, { method: "POST" });
    const { frames, failure } = await readFrames(response);
    expect([frames.length, failure]).toEqual([1, expect.any(TypeError)]);
  });

  test("ends when the client disconnects or after eleven minutes if it stalls", async () => {
    const stalled = own([{ status: 200, pieces: [{ text: ": hi\n\n" }], end: "stall" }]);
    const controller = new AbortController();
    const emulator = createEmulator({ faultCases: [stalled] });
    const reading = readFrames(await post(emulator, "ours", { signal: controller.signal }));
    controller.abort();
    expect((await reading).failure).toMatchObject({ name: "AbortError" });
    const clock = createLeapingClock();
    const { failure } = await readFrames(
      await post(createEmulator({ clock, faultCases: [stalled] }), "ours"),
    );
    expect([failure, clock.sleeps]).toEqual([expect.any(TypeError), [660_000]]);
  });
});

test.each([
  ["cut", []],
  ["stall", [660_000]],
] as const)("a response that never comes fails as a connection does: %s", async (end, sleeps) => {
  const clock = createLeapingClock();
  const emulator = createEmulator({ clock, faultCases: [own([{ end }])] });
  await expect(post(emulator, "ours")).rejects.toThrow(TypeError);
  expect(clock.sleeps).toEqual(sleeps);
});

test("pages of other origins may read a fault with the option cors", async () => {
  const emulator = createEmulator({ cors: true, faultCases });
  const preflight = await post(emulator, "refused-detail", { method: "OPTIONS", body: null });
  expect([preflight.status, preflight.headers.get("access-control-allow-methods")]).toEqual([
    204,
    "GET, POST",
  ]);
  const response = await post(emulator, "refused-detail");
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
});
