import { idempotency, resumableStreams } from "@sluice/durable";
import type { ProxyOptions } from "@sluice/worker-proxy";
import { describe, expect, test } from "vitest";
import { createTextReader } from "../../worker-proxy/test/support/event-stream.js";
import { chat } from "../../worker-proxy/test/support/in-process.js";
import {
  done,
  end,
  errorCode,
  numbered,
  openGateway,
  openMeter,
  openStoredProxy,
  piece,
  readCode,
  readStreamId,
  silenceLog,
  usage,
} from "./support/stored-proxy.js";

/* What stored streams cost, and the events that say so. */

const keyed = { headers: { "idempotency-key": "one" } };
const events = { headers: { "content-type": "text/event-stream" } };

function openPaid({ idleTimeoutMs = 60_000, ...options }: PaidOptions = {}) {
  const gateway = openGateway();
  const meter = openMeter();
  const proxy = openStoredProxy({
    gateway,
    plugins: [meter.plugin, resumableStreams({ idleTimeoutMs }), idempotency()],
    ...options,
  });
  return { gateway, meter, ...proxy };
}

interface PaidOptions extends Pick<ProxyOptions<unknown>, "limits" | "timeout"> {
  readonly idleTimeoutMs?: number;
}

describe("a stored stream is billed once (case 51)", () => {
  test("many requests with one idempotency-key, together and later, are paid for once", async () => {
    const { gateway, meter, startStream } = openPaid();
    gateway.streams(piece("a") + end);
    const five = await Promise.all(Array.from({ length: 5 }, () => startStream(keyed)));
    for (const response of [...five, await startStream(keyed)])
      expect(await response.text()).toContain("[DONE]");
    expect(gateway.requests).toHaveLength(1);
    await expect.poll(() => [meter.reserved.size, meter.spent]).toEqual([0, [7]]);
  });

  test("the usage at its end is paid, though its only reader has left", async () => {
    const { gateway, meter, startStream } = openPaid();
    const live = gateway.streamsLive();
    const client = new AbortController();
    const response = await startStream({ signal: client.signal });
    live.send(piece("a"));
    await createTextReader(response).until('"a"');
    client.abort();
    live.send(end);
    live.end();
    await expect.poll(() => [meter.reserved.size, meter.spent]).toEqual([0, [7]]);
  });

  test("the meter gets its user, its route, its model and its body", async () => {
    const gateway = openGateway();
    gateway.streams(piece("a") + end);
    const { plugin } = openMeter();
    const events: object[] = [];
    const reserve: typeof plugin.reserve = (payable) => {
      const { user, route, model, body } = payable;
      events.push({ user, route, model, body });
      return plugin.reserve(payable);
    };
    const user = { id: "Zoë", session: "s-1", address: "192.0.2.7" };
    const { startStream } = openStoredProxy({
      gateway,
      authenticate: () => user,
      plugins: [{ ...plugin, reserve }, resumableStreams()],
    });
    await (await startStream()).text();
    expect(events).toEqual([{ user, route: "chat", model: "delta-5.3", body: { ...chat, stream: true } }]);
  });
});

describe("a request that is refused before it is sent costs nothing (case 50)", () => {
  test("a bad key, another body, an unknown event or stream, or one reader too many costs nothing", async () => {
    const { gateway, meter, startStream, resume, stop } = openPaid();
    const live = gateway.streamsLive();
    const id = readStreamId(await startStream(keyed));
    for (let nth = 2; nth <= 8; nth += 1) await resume(id);
    const refused = [
      await startStream({ headers: { "idempotency-key": "a b" } }),
      await startStream({ ...keyed, body: { ...chat, stream: true, temperature: 1 } }),
      await startStream(keyed),
      await resume(id, 3),
      await resume("0".repeat(32)),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 422, 429, 400, 404]);
    expect([meter.reserved.size, meter.spent, live.hasLeft]).toEqual([1, [], false]);
    await stop(id);
  });

  test("a request without budget or with a failing meter costs nothing, and can be sent again", async () => {
    silenceLog();
    const gateway = openGateway();
    gateway.streams(piece("a") + end);
    const { plugin, reserved, spent } = openMeter();
    let reserve = async (_: unknown): Promise<unknown> => ({ retryAfterMs: 90_500 });
    const { startStream } = openStoredProxy({
      gateway,
      plugins: [{ ...plugin, reserve: (payable) => reserve(payable) as never }, resumableStreams()],
    });
    const exhausted = await startStream(keyed);
    expect([exhausted.status, exhausted.headers.get("retry-after")]).toEqual([429, "91"]);
    expect(await readCode(exhausted)).toBe("budget_exhausted");
    reserve = async () => {
      throw new Error("no ledger");
    };
    const failed = await startStream(keyed);
    expect([failed.status, await readCode(failed)]).toEqual([503, "budget_unavailable"]);
    expect(gateway.requests).toHaveLength(0);
    reserve = (payable) => plugin.reserve(payable as never);
    expect(await (await startStream(keyed)).text()).toContain("[DONE]");
    await expect.poll(() => [reserved.size, spent]).toEqual([0, [7]]);
  });
});

test.each([
  ["refuses", () => Response.json({ error: { message: "no" } }, { status: 429 })],
  ["responds with a redirect", () => new Response(null, { status: 302, headers: { location: "/" } })],
  [
    "can't be reached",
    () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } })),
  ],
  ["fails at once", () => new Response('data: {"error":{"message":"no"}}\n\n', events)],
])("the reservation of a stream is released if the gateway %s (case 49)", async (_, respond) => {
  silenceLog();
  const { gateway, meter, startStream, jobs } = openPaid();
  gateway.responds(respond);
  await (await startStream()).text();
  await expect.poll(() => jobs.length).toBe(1);
  expect([meter.reserved.size, meter.spent, jobs[0]?.spent]).toEqual([0, [], 0]);
});

describe("all that was reserved is spent", () => {
  test("a response that breaks off, is stopped or loses its reader spends its whole reservation", async () => {
    const { gateway, meter, startStream, stop } = openPaid({ idleTimeoutMs: 50 });
    gateway.streams(piece("a"));
    await (await startStream()).text();
    await expect.poll(() => meter.spent).toEqual([100]);
    gateway.streamsLive();
    await stop(readStreamId(await startStream()));
    await expect.poll(() => meter.spent).toEqual([100, 100]);
    gateway.streamsLive();
    const client = new AbortController();
    await startStream({ signal: client.signal });
    client.abort();
    await expect.poll(() => meter.spent).toEqual([100, 100, 100]);
    expect(meter.reserved.size).toBe(0);
  });
});

test("JSON instead of a stream is settled by its usage", async () => {
  const { gateway, meter, startStream } = openPaid();
  gateway.responds(() => Response.json({ id: "1", choices: [], usage }));
  expect(await (await startStream()).json()).toMatchObject({ usage });
  await expect.poll(() => meter.spent).toEqual([7]);
});

test.each([
  ["sends nothing more", ""],
  ["sends comments alone", ": still there\n\n"],
])(
  "a gateway that %s ends a stream, which is read, paid, reported and frees its slot (case 143)",
  async (_, more) => {
    const { gateway, meter, startStream, resume, jobs } = openPaid({
      timeout: { chunkMs: 50 },
      limits: { maxStreamsPerUser: 3 },
    });
    gateway.responds(({ signal }) => {
      let text = piece("a");
      const pull = async (out: ReadableStreamDefaultController<Uint8Array>) => {
        while (text === "" && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, 5));
        if (signal.aborted) return out.error(new Error("closed"));
        out.enqueue(new TextEncoder().encode(text));
        text = more;
        await new Promise((resolve) => setTimeout(resolve, 5));
      };
      return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), events);
    });
    const responses = await Promise.all([startStream(), startStream(), startStream()]);
    for (const response of responses) {
      const text = await response.text();
      expect([text.startsWith(numbered([piece("a")])), errorCode(text)]).toEqual([true, "upstream_idle"]);
      expect(errorCode(await (await resume(readStreamId(response), 1)).text())).toBe("upstream_idle");
    }
    await expect.poll(() => jobs.length).toBe(3);
    expect([meter.reserved.size, meter.spent]).toEqual([0, [100, 100, 100]]);
    expect(jobs.map(({ id }) => id).sort()).toEqual(responses.map(readStreamId).sort());
    for (const job of jobs) expect(job).toMatchObject({ outcome: "truncated", code: "upstream_idle" });
    gateway.streams(piece("a") + end);
    for (const response of await Promise.all([startStream(), startStream(), startStream()]))
      expect(await response.text()).toContain("[DONE]");
  },
);

describe("each response has one event, and its usage is in no other event (case 116)", () => {
  test("a repeated request and a second read add no usage", async () => {
    const { gateway, startStream, resume, jobs, requests } = openPaid();
    gateway.streams(piece("a") + end);
    const first = await startStream(keyed);
    await first.text();
    const id = readStreamId(first);
    await (await startStream(keyed)).text();
    await (await resume(id, 1)).text();
    await expect.poll(() => requests.length).toBe(3);
    expect(requests.map(({ streamId, isReplay, outcome }) => [streamId, isReplay, outcome])).toEqual([
      [id, undefined, "complete"],
      [id, true, "complete"],
      [id, true, "complete"],
    ]);
    for (const event of requests) expect([event.usage, event.spent]).toEqual([undefined, undefined]);
    await expect.poll(() => jobs.length).toBe(1);
    expect(jobs[0]).toMatchObject({
      job: "chat",
      id,
      outcome: "complete",
      userId: "Bearer user-token",
      model: "delta-5.3",
      usage,
      reserved: 100,
      spent: 7,
      bytes: new TextEncoder().encode(piece("a") + end).byteLength,
      requestId: requests[0]?.requestId,
      upstreamStatus: 200,
    });
    expect(jobs[0]?.durationMs).toBeGreaterThanOrEqual(0);
  });

  test.each(["truncated", "error"] as const)("the event has the client's error code: %s", async (outcome) => {
    const { gateway, startStream, jobs, requests } = openPaid();
    const live = gateway.streamsLive();
    const response = await startStream();
    live.send(piece("a"));
    const reader = createTextReader(response);
    await reader.until('"a"');
    if (outcome === "truncated") live.cut();
    else live.send('data: {"error":{"message":"no"}}\n\n');
    await reader.until("never");
    await expect.poll(() => requests.length).toBe(1);
    const code = outcome === "truncated" ? "upstream_cut" : "upstream_error";
    expect(requests[0]).toMatchObject({ outcome: "truncated", code });
    await expect.poll(() => jobs).toMatchObject([{ outcome, code, spent: 100 }]);
  });

  test("the outcome is unconfirmed without a finish reason, and refused after a refusal by the gateway", async () => {
    const { gateway, startStream, jobs } = openPaid();
    gateway.streams(`${piece("a")}${done}`);
    expect(await (await startStream()).text()).toBe(numbered([piece("a"), done]));
    await expect.poll(() => jobs.length).toBe(1);
    gateway.responds(() => Response.json({ error: {} }, { status: 400 }));
    await (await startStream()).text();
    await expect.poll(() => jobs.length).toBe(2);
    expect(jobs.map(({ outcome, spent, upstreamStatus }) => [outcome, spent, upstreamStatus])).toEqual([
      ["unconfirmed", 100, 200],
      ["refused", 0, 400],
    ]);
  });

  test("the event follows the event of a request whose client has left", async () => {
    const { gateway, startStream, jobs, requests } = openPaid();
    const live = gateway.streamsLive();
    const client = new AbortController();
    const response = await startStream({ signal: client.signal });
    live.send(piece("a"));
    await createTextReader(response).until('"a"');
    client.abort();
    await expect.poll(() => requests.length).toBe(1);
    expect(requests[0]).toMatchObject({ outcome: "disconnected", streamId: readStreamId(response) });
    expect(jobs).toEqual([]);
    live.send(end);
    live.end();
    await expect.poll(() => jobs).toMatchObject([{ outcome: "complete", usage, spent: 7 }]);
  });
});
