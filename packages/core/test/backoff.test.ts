import { describe, expect, test } from "vitest";
import { type BackoffLimits, createBackoff } from "../src/base/backoff.js";
import { catchError, stoppedClock } from "./support/gateway.js";

const limits: BackoffLimits = { limit: 3, firstMs: 1000, longestMs: 30_000 };
const failure = new Error("the proxy does not respond");

/** A backoff on a clock that stands still; `delays` has its waits. */
function createTestBackoff(changes: Partial<BackoffLimits> = {}, random = () => 1) {
  const clock = stoppedClock();
  const backoff = createBackoff({ clock, random }, { ...limits, ...changes });
  const delays: number[] = [];
  const wait = (cause: unknown = failure, signal?: AbortSignal) =>
    clock.advanceUntil(backoff.wait(cause, { signal, onWait: ({ delayMs }) => delays.push(delayMs) }), 1000);
  return { backoff, clock, delays, wait };
}

describe("a backoff", () => {
  test("The waits double until the limit, which throws the last cause", async () => {
    const { delays, wait } = createTestBackoff();
    for (let nth = 0; nth < 3; nth += 1) await wait();
    const last = new Error("the last response");
    expect(await catchError(wait(last))).toBe(last);
    expect(await catchError(wait(failure))).toBe(failure);
    expect(delays).toEqual([1000, 2000, 4000]);
  });

  test("A limit of 0 throws the first cause without a wait", async () => {
    const { backoff, delays, wait } = createTestBackoff({ limit: 0 });
    expect(await catchError(wait())).toBe(failure);
    expect([delays, backoff.failures]).toEqual([[], 0]);
  });

  test("Progress restarts the count and the waits", async () => {
    const { backoff, delays, wait } = createTestBackoff();
    await wait();
    await wait();
    expect(backoff.failures).toBe(2);
    backoff.reset();
    for (let nth = 0; nth < 3; nth += 1) await wait();
    expect(await catchError(wait())).toBe(failure);
    expect(delays).toEqual([1000, 2000, 1000, 2000, 4000]);
  });

  test("A hundred attempts with a little progress each still have a wait between them", async () => {
    const { backoff, clock, wait } = createTestBackoff({}, () => 0);
    for (let nth = 0; nth < 100; nth += 1) {
      await wait({ retryAfterMs: 0 });
      backoff.reset();
    }
    expect(clock.now()).toBeGreaterThanOrEqual(50_000);
  });

  test("Retry-After makes a wait longer, up to the longest wait, but never shorter", async () => {
    const { delays, wait } = createTestBackoff();
    await wait({ retryAfterMs: 7000 });
    await wait({ retryAfterMs: 0 });
    await wait({ retryAfterMs: 86_400_000 });
    expect(delays).toEqual([7000, 2000, 30_000]);
  });

  test("The jitter at most halves a wait", async () => {
    const { delays, wait } = createTestBackoff({}, () => 0);
    await wait();
    await wait();
    expect(delays).toEqual([500, 1000]);
  });

  test("An abort ends a wait at once, leaves no timer, and prevents the next one", async () => {
    const { backoff, clock } = createTestBackoff();
    const stop = new AbortController();
    const waiting = backoff.wait(failure, { signal: stop.signal });
    stop.abort(new Error("left"));
    await expect(waiting).rejects.toThrow("left");
    expect(clock.sleeping()).toBe(0);
    await expect(backoff.wait(failure, { signal: stop.signal })).rejects.toThrow("left");
    expect(backoff.failures).toBe(1);
  });
});
