import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { JobEvent, ProxyEvent, RequestEvent } from "@sluice/worker-proxy";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { writeFilesOfPage } from "../support/page-files.ts";
import { createChatRequest, GATEWAY_KEY, openNetwork, type Worker } from "../support/recipe-network.ts";

/* The recipe of metrics: a Worker with a data set, and a server for a scraper. */

const root = `${import.meta.dirname}/../../`;
const files = writeFilesOfPage("docs/recipes/metrics.md");
const network = globalThis.fetch;
const usage = { total_tokens: 30, prompt_tokens: 10, completion_tokens: 20 };
const request: RequestEvent = {
  type: "request",
  requestId: "canary-request",
  route: "chat",
  method: "POST",
  status: 200,
  outcome: "complete",
  model: "delta-5.3",
  userId: "canary-user",
  streamId: "canary-stream",
  target: "canary-target",
  reason: "canary-reason",
  usage,
  firstByteMs: 300,
  durationMs: 2000,
};
const job: JobEvent = {
  type: "job",
  job: "chat",
  id: "canary-job",
  outcome: "lost",
  code: "stream_interrupted",
  userId: "canary-user",
  model: "delta-5.3",
  usage,
  spent: 40,
  durationMs: 61_000,
};

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe("in Analytics Engine", () => {
  interface Point {
    readonly indexes: string[];
    readonly blobs: string[];
    readonly doubles: number[];
  }
  const openWorker = async () => {
    const { default: worker } = await files<{ default: Worker }>("worker.ts");
    const points: Point[] = [];
    const env = {
      GATEWAY_API_KEY: GATEWAY_KEY,
      EVENTS: { writeDataPoint: (point: Point) => void points.push(point) },
    };
    return { worker, points, env };
  };

  test("a request is a row with its details, and without its user, its text or a key", async () => {
    openNetwork();
    const { worker, points, env } = await openWorker();
    await (await worker.fetch(createChatRequest("a secret question"), env)).text();
    await expect.poll(() => points).toHaveLength(1);
    const [{ indexes, blobs, doubles } = { indexes: [], blobs: [], doubles: [] }] = points;
    expect(indexes).toEqual(["request"]);
    expect(blobs).toEqual(["request", "complete", "", "delta-5.3", "chat", expect.stringMatching(/./)]);
    expect([doubles[0], doubles.length]).toEqual([200, 5]);
    expect(doubles[3]).toBeGreaterThan(0);
    for (const secret of ["ada", "a secret question", GATEWAY_KEY])
      expect(JSON.stringify(points)).not.toContain(secret);
  });

  test("a row stays within the limits of the product, whatever a user writes", async () => {
    openNetwork();
    vi.spyOn(console, "error").mockImplementation(() => {});
    const { worker, points, env } = await openWorker();
    const init = { method: "POST", headers: { "content-type": "application/json" } };
    const body = JSON.stringify({ model: "é".repeat(100_000), messages: [] });
    const url = "https://gateway-proxy.example.workers.dev/v1/chat/completions";
    expect((await worker.fetch(new Request(url, { ...init, body }), env)).status).toBe(403);
    await expect.poll(() => points).toHaveLength(1);
    const [{ indexes, blobs, doubles } = { indexes: [], blobs: [], doubles: [] }] = points;
    const bytes = (texts: string[]) => Buffer.byteLength(texts.join(""));
    expect([indexes.length, bytes(indexes) <= 96, bytes(blobs) <= 16 * 1024]).toEqual([1, true, true]);
    expect([blobs.length <= 20, doubles.length <= 20]).toEqual([true, true]);
    expect(doubles.every(Number.isFinite)).toBe(true);
  });

  test("a missing binding breaks no response, and `GET /health` names it in the log", async () => {
    openNetwork();
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { worker, env } = await openWorker();
    const without = { ...env, EVENTS: undefined };
    expect((await worker.fetch(createChatRequest("Hello"), without)).status).toBe(200);
    const health = new Request("https://gateway-proxy.example.workers.dev/health");
    expect((await worker.fetch(health, without)).status).toBe(503);
    expect(log.mock.calls.join("\n")).toContain("EVENTS: the binding is missing");
  });
});

describe("for Prometheus", () => {
  const TOKEN = "a token of the scraper, of 32 characters";
  let server: Server;
  let url = "";
  beforeAll(async () => {
    for (const [name, value] of Object.entries({
      GATEWAY_API_KEY: GATEWAY_KEY,
      METRICS_TOKEN: TOKEN,
      PORT: "0",
    }))
      vi.stubEnv(name, value);
    ({ server } = await files<{ server: Server }>("server.ts"));
    if (!server.listening) await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.close().closeAllConnections();
    vi.unstubAllEnvs();
  });

  const scrape = (authorization?: string, init: RequestInit = {}) =>
    network(`${url}/metrics`, { ...init, headers: { ...(authorization && { authorization }) } });
  async function readSamples(): Promise<Readonly<Record<string, number>>> {
    const response = await scrape(`Bearer ${TOKEN}`);
    expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    const lines = (await response.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const samples = lines.map((line) => /^(\w+(?:\{[^\n]*\})?) (\S+)$/.exec(line)?.slice(1) ?? [line, "NaN"]);
    return Object.fromEntries(samples.map(([name, value]) => [name, Number(value)]));
  }
  const openCounter = async () => {
    const { countEvents } = await files<{
      countEvents(models: readonly string[]): (event: ProxyEvent) => void;
    }>("metrics.ts");
    return countEvents(["delta-5.3"]);
  };

  test("a request through the server is counted, with its tokens", async () => {
    openNetwork();
    const before = await readSamples();
    const init = createChatRequest("a secret question");
    const response = await network(new Request(`${url}/v1/chat/completions`, init));
    const { usage: counted } = (await response.json()) as { usage: { total_tokens: number } };
    const name = 'sluice_requests_total{route="chat",model="delta-5.3",status="200",outcome="complete"}';
    await expect.poll(async () => (await readSamples())[name]).toBe((before[name] ?? 0) + 1);
    const samples = await readSamples();
    const tokens = 'sluice_tokens_total{model="delta-5.3"}';
    expect((samples[tokens] ?? 0) - (before[tokens] ?? 0)).toBe(counted.total_tokens);
    expect(samples['sluice_first_byte_seconds_count{route="chat",model="delta-5.3"}']).toBe(samples[name]);
  });

  test("times are in seconds, and jobs have what was spent", async () => {
    const count = await openCounter();
    const before = await readSamples();
    for (const event of [request, job]) count(event);
    const samples = await readSamples();
    const added = (name: string) => (samples[name] ?? 0) - (before[name] ?? 0);
    expect(added('sluice_request_seconds_sum{route="chat",model="delta-5.3"}')).toBeCloseTo(2);
    expect(added('sluice_first_byte_seconds_sum{route="chat",model="delta-5.3"}')).toBeCloseTo(0.3);
    expect(added('sluice_jobs_total{job="chat",model="delta-5.3",outcome="lost"}')).toBe(1);
    expect(added('sluice_spent_total{model="delta-5.3"}')).toBe(40);
    expect(added('sluice_tokens_total{model="delta-5.3"}')).toBe(60);
  });

  test("no sample names a user, a request or a text that a user can choose", async () => {
    const count = await openCounter();
    const before = await readSamples();
    for (let nth = 0; nth < 5000; nth += 1)
      count({ ...request, model: `canary-${nth}"\n\\`, code: `canary-${nth}` });
    const samples = await readSamples();
    const other = 'sluice_requests_total{route="chat",model="other",status="200",outcome="complete"}';
    expect((samples[other] ?? 0) - (before[other] ?? 0)).toBe(5000);
    expect(JSON.stringify(samples)).not.toContain("canary");
    expect(Object.keys(samples).length).toBeLessThan(200);
    expect(Object.values(samples).every(Number.isFinite)).toBe(true);
  });

  test.each([
    ["without a token", undefined],
    ["with another token", "Bearer another token of 32 characters and more"],
    ["with a part of the token", `Bearer ${TOKEN.slice(1)}`],
    ["with the token alone", TOKEN],
  ])("a scraper %s gets a 404", async (_, authorization) => {
    const response = await scrape(authorization);
    expect([response.status, await response.text()]).toEqual([404, ""]);
  });

  test.each(["", "short"])("the path is closed while the token is %j", async (token) => {
    vi.stubEnv("METRICS_TOKEN", token);
    expect((await scrape(`Bearer ${token}`)).status).toBe(404);
    vi.stubEnv("METRICS_TOKEN", TOKEN);
    expect((await scrape(`Bearer ${TOKEN}`)).status).toBe(200);
  });

  test("the Node template has the same file", () => {
    const shown = readFileSync(`${root}docs/examples/metrics/metrics.ts`, "utf8");
    const template = readFileSync(`${root}packages/create-sluice/templates/node/server/metrics.ts`, "utf8");
    expect(template.trimEnd()).toBe(shown.trimEnd());
  });
});
