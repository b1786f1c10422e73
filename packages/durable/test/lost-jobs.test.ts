import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { budget, idempotency, resumableStreams } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import type { ProxyPlugin } from "@sluice/worker-proxy";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createTextReader } from "../../worker-proxy/test/support/event-stream.js";
import {
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
} from "./support/stored-proxy.js";

const START = Date.UTC(2040, 0, 1);
/** Longer than the silence after which an owner counts as lost. */
const SILENCE_MS = 26_000;
const keyed = { headers: { "idempotency-key": "one" } };
const image = { data: [], usage: { total_tokens: 7 } };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Two processes one after the other, with one file and one meter. */
function openProcesses(createMeter?: () => ProxyPlugin) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "jobs.db");
  const meter = openMeter();
  const gateway = openGateway();
  const open = () =>
    openStoredProxy({
      host: nodeHost({ file, env: {} }),
      gateway,
      plugins: [createMeter?.() ?? meter.plugin, resumableStreams(), idempotency()],
    });
  return { meter, gateway, open };
}

/** The first process has sent a create, and was killed before the response. */
async function loseCreate() {
  const processes = openProcesses();
  const { gateway, open } = processes;
  gateway.hangs();
  const first = open();
  void first.create("one");
  await expect.poll(() => gateway.requests.length).toBe(1);
  await first.host.crash();
  return processes;
}

describe("a create whose process is gone (case 102)", () => {
  test("is never sent again: its key returns the same error for a day, and its reservation is spent", async () => {
    const lines = silenceLog();
    const { meter, gateway, open } = await loseCreate();
    const second = open();
    gateway.responds(() => Response.json(image));
    for (const at of [SILENCE_MS, SILENCE_MS + 1000, 86_000_000]) {
      vi.setSystemTime(START + at);
      const lost = await second.create("one");
      expect([lost.status, await readCode(lost)]).toEqual([502, "request_lost"]);
    }
    expect(gateway.requests).toHaveLength(1);
    expect([meter.reserved.size, meter.spent]).toEqual([0, [100]]);
    expect(second.jobs).toMatchObject([
      { job: "create", outcome: "lost", code: "request_lost", reserved: 100, spent: 100 },
    ]);
    expect(lines.join()).toContain("was lost with its process; what was reserved for it is spent");
  });

  test("makes a repeated request wait until the lease of the process ends", async () => {
    silenceLog();
    const { gateway, open } = await loseCreate();
    const second = open();
    const waiting = second.create("one");
    await expect.poll(() => second.host.opened).toBe(1);
    vi.setSystemTime(START + SILENCE_MS);
    expect(await readCode(await waiting)).toBe("request_lost");
    expect(gateway.requests).toHaveLength(1);
  });

  test("frees its key and its reservation if it was not sent yet (case 142)", async () => {
    const lines = silenceLog();
    const { meter, gateway, open } = openProcesses();
    gateway.responds(() => Response.json(image));
    meter.onReserve = () =>
      new Promise((_, reject) =>
        gateway.closing.addEventListener("abort", () => reject(new Error("closed"))),
      );
    const first = open();
    void first.create("one");
    await expect.poll(() => meter.reserved.size).toBe(1);
    await first.host.crash();
    vi.setSystemTime(START + SILENCE_MS);
    meter.onReserve = async () => {};
    const second = open();
    expect(await (await second.create("one")).json()).toEqual(image);
    expect(gateway.requests).toHaveLength(1);
    await expect.poll(() => [meter.reserved.size, meter.spent]).toEqual([0, [7]]);
    await expect.poll(() => second.jobs.length).toBe(2);
    expect(second.jobs).toMatchObject([
      { outcome: "lost", reserved: 100, spent: 0 },
      { outcome: "complete", spent: 7 },
    ]);
    expect(lines.join()).toContain("it was not sent; what was reserved for it is given back");
  });

  test("is not sent by its first process once another one has its key", async () => {
    silenceLog();
    const { meter, gateway, open } = openProcesses();
    let respond!: (response: Response) => void;
    gateway.responds(
      () =>
        new Promise((resolve, reject) => {
          respond = resolve;
          gateway.closing.addEventListener("abort", () => reject(gateway.closing.reason));
        }),
    );
    let wake!: () => void;
    meter.onReserve = () =>
      new Promise((resolve) => {
        wake = resolve;
      });
    const process = open();
    const stalled = process.create("one");
    await expect.poll(() => meter.reserved.size).toBe(1);
    vi.setSystemTime(START + SILENCE_MS);
    meter.onReserve = async () => {};
    const second = process.create("one");
    await expect.poll(() => gateway.requests.length).toBe(1);
    wake();
    expect(await readCode(await stalled)).toBe("request_lost");
    expect(gateway.requests).toHaveLength(1);
    respond(Response.json(image));
    expect(await (await second).json()).toEqual(image);
    await process.host.ended();
    expect([meter.reserved.size, meter.spent]).toEqual([0, [7]]);
    expect(await (await process.create("one")).json()).toEqual(image);
  });

  test("is settled and reported once, however many requests arrive at once (case 142)", async () => {
    silenceLog();
    const { meter, open } = await loseCreate();
    vi.setSystemTime(START + SILENCE_MS);
    const second = open();
    const codes = await Promise.all(
      Array.from({ length: 5 }, async () => readCode(await second.create("one"))),
    );
    expect(new Set(codes)).toEqual(new Set(["request_lost"]));
    expect(second.jobs).toHaveLength(1);
    expect(meter.spent).toEqual([100]);
  });

  test("is settled by a timer if no request comes", async () => {
    silenceLog();
    const { meter, open } = await loseCreate();
    vi.setSystemTime(START + 61_000);
    const second = open();
    await expect.poll(() => second.jobs).toMatchObject([{ outcome: "lost" }]);
    await expect.poll(() => meter.spent).toEqual([100]);
  });
});

describe("a lost create whose checks fail", () => {
  const failCheck = (operation: string) => operation === "creates.check";

  test("is checked until one check succeeds, also after a thousand failures", async () => {
    const lines = silenceLog();
    const { meter, open } = await loseCreate();
    const second = open();
    second.host.fails = failCheck;
    await second.setAttempts({ job: "creates.check", attempts: 1_000, deaths: 0 });
    vi.setSystemTime(START + 61_000);
    await expect.poll(() => lines.join()).toContain("job creates.check, attempt 1001");
    expect(second.jobs).toEqual([]);
    second.host.fails = () => false;
    vi.setSystemTime(START + 61_000 + 3_600_000);
    await expect.poll(() => second.jobs).toMatchObject([{ outcome: "lost", spent: 100 }]);
    await expect.poll(() => [meter.reserved.size, meter.spent]).toEqual([0, [100]]);
  });

  test("spends its reservation in full after `reservationTtlMs` at the latest", async () => {
    silenceLog();
    const { gateway, open } = openProcesses(() =>
      budget({ limits: { user: 1_000 }, windowMs: 86_400_000, reserve: () => 100 }),
    );
    gateway.hangs();
    const first = open();
    void first.create("one");
    await expect.poll(() => gateway.requests.length).toBe(1);
    await first.host.crash();
    const second = open();
    second.host.fails = failCheck;
    const readBudget = async () => {
      const response = await second.send({ method: "GET", path: "/v1/budget" });
      return ((await response.json()) as { budgets: unknown }).budgets;
    };
    vi.setSystemTime(START + 3_599_000);
    expect(await readBudget()).toMatchObject([{ spent: 0, reserved: 100 }]);
    vi.setSystemTime(START + 3_600_000);
    expect(await readBudget()).toMatchObject([{ spent: 100, reserved: 0 }]);
  });
});

describe("a stream whose process is gone (case 115)", () => {
  test("ends in an error behind its stored events, and is never sent again", async () => {
    silenceLog();
    const { meter, gateway, open } = openProcesses();
    const live = gateway.streamsLive();
    const first = open();
    const response = await first.startStream(keyed);
    const id = readStreamId(response);
    const large = piece("large".repeat(60_000));
    const reader = createTextReader(response);
    // an event of this size is stored immediately
    live.send(piece("a") + large);
    await reader.until("id: 2\n");
    await expect.poll(() => first.host.count("job_parts")).toBe(1);
    live.send(piece("not stored"));
    await reader.until("not stored");
    await first.host.crash();
    vi.setSystemTime(START + SILENCE_MS);
    const second = open();
    for (const again of [await second.resume(id), await second.startStream(keyed)]) {
      const text = await again.text();
      expect(text.startsWith(numbered([piece("a"), large]))).toBe(true);
      expect(errorCode(text)).toBe("stream_interrupted");
      expect(text).not.toContain("not stored");
    }
    // also for a client that has read more than was stored
    expect(errorCode(await (await second.resume(id, 3)).text())).toBe("stream_interrupted");
    expect((await second.stop(id)).status).toBe(204);
    expect(gateway.requests).toHaveLength(1);
    expect([meter.reserved.size, meter.spent]).toEqual([0, [100]]);
    expect(second.jobs).toMatchObject([
      { job: "chat", id, outcome: "lost", code: "stream_interrupted", reserved: 100, spent: 100 },
    ]);
  });

  test("frees its slot", async () => {
    silenceLog();
    const { gateway, open } = openProcesses();
    gateway.hangs();
    const first = open();
    for (let nth = 0; nth < 16; nth += 1) void first.startStream();
    await expect.poll(() => gateway.requests.length).toBe(16);
    await first.host.crash();
    gateway.streams(piece("a") + end);
    const second = open();
    expect((await second.startStream()).status).toBe(429);
    vi.setSystemTime(START + SILENCE_MS);
    expect((await second.startStream()).status).toBe(200);
  });

  test("is read as before if it had ended", async () => {
    const { gateway, open } = openProcesses();
    gateway.streams(piece("a") + end);
    const first = open();
    const response = await first.startStream();
    const text = await response.text();
    await first.host.ended();
    await first.host.crash();
    expect(await (await open().resume(readStreamId(response))).text()).toBe(text);
  });
});

describe("a reservation that could not be settled (cases 115, 142)", () => {
  test("is settled later, once, and its response stays", async () => {
    silenceLog();
    const { meter, gateway, open } = openProcesses();
    gateway.streams(piece("a") + end);
    meter.fails = true;
    const first = open();
    const response = await first.startStream(keyed);
    const text = await response.text();
    await first.host.ended();
    expect(first.jobs).toMatchObject([{ outcome: "complete", spent: 7 }]);
    expect([meter.reserved.size, meter.spent]).toEqual([1, []]);
    await first.host.crash();
    vi.setSystemTime(START + 31_000);
    meter.fails = false;
    const second = open();
    await expect.poll(() => [meter.reserved.size, meter.spent]).toEqual([0, [7]]);
    expect(await (await second.startStream(keyed)).text()).toBe(text);
    expect(second.jobs).toEqual([]);
    expect(gateway.requests).toHaveLength(1);
  });

  test("frees the key of a refused request, and is given back later", async () => {
    silenceLog();
    const { meter, gateway, open } = openProcesses();
    gateway.responds(() => Response.json({ error: {} }, { status: 429 }));
    meter.fails = true;
    const first = open();
    expect((await first.create("one")).status).toBe(429);
    await first.host.ended();
    expect([meter.reserved.size, meter.spent]).toEqual([1, []]);
    meter.fails = false;
    gateway.responds(() => Response.json(image));
    expect((await first.create("one")).status).toBe(200);
    await first.host.ended();
    expect([meter.reserved.size, meter.spent]).toEqual([0, [7]]);
  });
});

describe("a meter that fails for long", () => {
  /** Opens a stream that has ended. Its reservation could not be settled. */
  async function openUnsettled() {
    const lines = silenceLog();
    const { meter, gateway, open } = openProcesses();
    gateway.streams(piece("a") + end);
    vi.useFakeTimers({ now: START });
    meter.fails = true;
    const process = open();
    const id = readStreamId(await process.startStream(keyed));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(process.jobs).toMatchObject([{ id, outcome: "complete", spent: 7 }]);
    return { id, lines, meter, process };
  }

  test("gets its settlements when it works again after an hour, with growing pauses between attempts", async () => {
    const { lines, meter, process } = await openUnsettled();
    await vi.advanceTimersByTimeAsync(3_600_000);
    const checks = lines.filter((line) => line.includes("job streams.check")).length;
    expect(checks).toBeGreaterThan(5);
    expect(checks).toBeLessThan(10);
    meter.fails = false;
    await vi.advanceTimersByTimeAsync(600_000);
    expect([meter.reserved.size, meter.spent]).toEqual([0, [7]]);
    expect(process.jobs).toHaveLength(1);
    expect(await process.host.count("jobs")).toBe(0);
  });

  test("loses no reservation silently: after the last attempt an event and the log name it", async () => {
    const { id, lines, meter, process } = await openUnsettled();
    await vi.advanceTimersByTimeAsync(4_300_000);
    expect(process.jobs.slice(1)).toMatchObject([
      { job: "chat", id, outcome: "dropped", code: "reservation_unsettled", reserved: 100 },
    ]);
    expect(process.jobs[1]).not.toHaveProperty("spent");
    expect(lines.join()).toContain(`${id}: its reservation was not settled in time`);
    expect(await process.host.count("jobs")).toBe(0);
    expect(meter.reserved.size).toBe(1);
  });

  test("without settleTicket is reported, too", async () => {
    const { process, meter } = await openUnsettled();
    Object.assign(meter.plugin, { settleTicket: undefined });
    await vi.advanceTimersByTimeAsync(4_300_000);
    expect(process.jobs.slice(1)).toMatchObject([{ code: "reservation_unsettled" }]);
  });
});

test("a stream leaves no row ten minutes after its end, and its key is free again", async () => {
  const { gateway, open } = openProcesses();
  gateway.streams(piece("a") + end);
  const process = open();
  const response = await process.startStream(keyed);
  await response.text();
  await process.host.ended();
  vi.setSystemTime(START + 599_000);
  expect((await process.resume(readStreamId(response))).status).toBe(200);
  vi.setSystemTime(START + 600_000);
  expect((await process.resume(readStreamId(response))).status).toBe(404);
  expect((await process.stop(readStreamId(response))).status).toBe(404);
  await expect.poll(() => process.host.count("jobs")).toBe(0);
  expect([await process.host.count("job_parts"), await process.host.count("timers")]).toEqual([0, 0]);
  expect(await (await process.startStream(keyed)).text()).toContain("[DONE]");
  expect(gateway.requests).toHaveLength(2);
});

test("a request whose ticket can't be stored reserves nothing and is not sent (case 189)", async () => {
  silenceLog();
  const { meter, gateway, open } = openProcesses();
  const process = open();
  process.host.fails = (operation) => operation.endsWith("storeTicket");
  for (const response of [await process.create("one"), await process.startStream(keyed)])
    expect([response.status, await readCode(response)]).toEqual([503, "budget_unavailable"]);
  expect([meter.reserved.size, gateway.requests.length]).toEqual([0, 0]);
});

test("a request whose state `sending` can't be stored is not sent", async () => {
  silenceLog();
  const { meter, gateway, open } = openProcesses();
  const process = open();
  let tickets = 0;
  // the first one is stored before the meter reserves
  process.host.fails = (operation) => operation.endsWith("storeTicket") && ++tickets > 1;
  expect((await process.create("one")).status).toBe(503);
  expect(gateway.requests).toHaveLength(0);
  process.host.fails = () => false;
  gateway.responds(() => Response.json(image));
  expect((await process.create("one")).status).toBe(200);
  expect([meter.reserved.size, meter.spent]).toEqual([0, [7]]);
});

test("a stream continues while the database is away for a moment, and is stored completely", async () => {
  const lines = silenceLog();
  const { gateway, open } = openProcesses();
  const live = gateway.streamsLive();
  const process = open();
  const response = await process.startStream(keyed);
  const reader = createTextReader(response);
  process.host.fails = (operation) => operation === "streams.append";
  const large = piece("large".repeat(60_000));
  live.send(large);
  await reader.until("id: 1\n");
  await expect.poll(() => lines.join()).toContain("a response could not be stored");
  process.host.fails = () => false;
  live.send(end);
  live.end();
  const text = await reader.until("nothing more");
  expect(text).toContain("[DONE]");
  expect((await (await process.resume(readStreamId(response))).text()) === text).toBe(true);
  expect(process.jobs).toMatchObject([{ outcome: "complete" }]);
});

test("a fault of the meter ends a request for all waiting callers, and the request is never sent again", async () => {
  const lines = silenceLog();
  const { meter, gateway } = openProcesses();
  gateway.responds(() => Response.json(image));
  const reserve: typeof meter.plugin.reserve = async (payable) => ({
    ...(await meter.plugin.reserve(payable)),
    calculateCost: () => {
      throw new Error("no price for this");
    },
  });
  const process = openStoredProxy({
    gateway,
    plugins: [{ ...meter.plugin, reserve }, idempotency()],
  });
  expect(await readCode(await process.create("one"))).toBe("request_lost");
  expect(lines.join()).toContain("no price for this");
  vi.setSystemTime(START + SILENCE_MS);
  expect(await readCode(await process.create("one"))).toBe("request_lost");
  expect(gateway.requests).toHaveLength(1);
  await expect.poll(() => process.jobs).toMatchObject([{ outcome: "lost", spent: 100 }]);
});
