import type { JobEvent } from "@sluice/worker-proxy";
import {
  type AnalyticsDataset,
  type AnalyticsEngineOptions,
  analyticsEngine,
} from "@sluice/worker-proxy/analytics-engine";
import { describe, expect, test, vi } from "vitest";
import { asked, type Env, openProxy } from "../../worker-proxy/test/support/in-process.js";

type Point = Parameters<AnalyticsDataset["writeDataPoint"]>[0];

function openDataset(options?: AnalyticsEngineOptions) {
  const points: Point[] = [];
  const onEvent = analyticsEngine<Env>(
    () => ({ writeDataPoint: (point) => void points.push(point) }),
    options,
  );
  return { points, onEvent };
}

const job: JobEvent = {
  kind: "answer",
  id: "stream-1",
  outcome: "complete",
  user: "user-1",
  requestId: "r-1",
  model: "delta-5.3",
  usage: { total_tokens: 30, prompt_tokens: 10, completion_tokens: 20 },
  reserved: 100,
  spent: 30,
  durationMs: 1200,
};

describe("a data point", () => {
  test("A data point of a request has its facts, and a hash of its user", async () => {
    const { points, onEvent } = openDataset();
    const usage = { total_tokens: 30, prompt_tokens: 10, completion_tokens: 20 };
    const { ask } = openProxy({ onEvent }, () => Response.json({ choices: [], usage }));
    await ask(asked());
    await expect.poll(() => points.length).toBe(1);
    const [{ indexes, blobs, doubles } = { indexes: [], blobs: [], doubles: [] }] = points;
    expect(indexes).toEqual([expect.stringMatching(/^[\da-f]{64}$/)]);
    expect(blobs.slice(0, 7)).toEqual(["request", "complete", "", "chat", "delta-5.3", indexes[0], "POST"]);
    expect([doubles[0], doubles[1], doubles.slice(5, 8)]).toEqual([200, 200, [30, 10, 20]]);
    expect(JSON.stringify(points)).not.toContain("user-1");
  });

  test("A data point of a job has its amounts", async () => {
    const { points, onEvent } = openDataset();
    await onEvent(job, { KEY: "" });
    expect(points[0]?.blobs.slice(0, 9)).toMatchObject({
      0: "answer",
      1: "complete",
      7: "r-1",
      8: "stream-1",
    });
    expect(points[0]?.doubles).toEqual([0, 0, 0, 1200, 0, 30, 10, 20, 100, 30, 0]);
  });

  test("has the plain id only if that is asked for, and none if that is", async () => {
    const plain = openDataset({ users: "plain" });
    await plain.onEvent(job, { KEY: "" });
    expect(plain.points[0]?.blobs[5]).toBe("user-1");
    const none = openDataset({ users: "none" });
    await none.onEvent(job, { KEY: "" });
    expect([none.points[0]?.blobs[5], none.points[0]?.indexes]).toEqual(["", ["answer"]]);
  });

  test("stays within the product's limits, whatever a gateway and a user write", async () => {
    const { points, onEvent } = openDataset({ users: "plain" });
    const long = "é".repeat(100_000);
    const usage = { total_tokens: "many", prompt_tokens: Number.NaN };
    await onEvent({ ...job, user: long, model: long, code: long, usage }, { KEY: "" });
    const [{ indexes, blobs, doubles } = { indexes: [], blobs: [], doubles: [] }] = points;
    const bytes = (texts: string[]) => new TextEncoder().encode(texts.join("")).length;
    expect([indexes.length, blobs.length <= 20, doubles.length <= 20]).toEqual([1, true, true]);
    expect(bytes(indexes)).toBeLessThanOrEqual(96);
    expect(bytes(blobs)).toBeLessThanOrEqual(16 * 1024);
    expect(doubles.every(Number.isFinite)).toBe(true);
  });
});

test("a missing binding is named by `GET /health`, and breaks no answer", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  const onEvent = analyticsEngine<Env>((env) => (env as unknown as { EVENTS?: AnalyticsDataset }).EVENTS);
  const { ask } = openProxy({ onEvent, routes: ["chat", "health"] });
  expect((await ask(asked())).status).toBe(200);
  expect((await ask(asked({ method: "GET", path: "/health" }))).status).toBe(503);
  expect(log.mock.calls.join()).toContain("analyticsEngine: its binding is missing; env.EVENTS is not set");
  log.mockRestore();
});
