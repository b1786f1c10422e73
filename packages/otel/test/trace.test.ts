import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { completeChat, createClient, streamChat } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { createTelemetry } from "@sluice/otel";
import { createProxyTelemetry } from "@sluice/otel/proxy";
import { createProxy, type ProxyEvent } from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openSDK } from "./support.js";

const KEY = "sk-gateway-0123456789abcdef";
const createRequest = (content: string) =>
  ({ model: "delta-5.3", messages: [{ role: "user", content }] }) as const;

/** A clock without waits between attempts, whose limits never expire. */
const clock = {
  now: () => performance.now(),
  sleep: (ms: number) => (ms < 60_000 ? Promise.resolve() : new Promise<void>(() => {})),
};

/** Creates a page and a Worker, each with its own SDK, and a gateway behind them. */
function openTrace() {
  const page = openSDK();
  const worker = openSDK();
  const emulator = createEmulator({ speed: Infinity, apiKeys: [KEY] });
  const events: ProxyEvent[] = [];
  const proxyTelemetry = createProxyTelemetry(worker);
  const proxy = createProxy({
    baseURL: "https://gateway.test",
    apiKey: () => KEY,
    authenticate: () => ({ id: "ada@example.com" }),
    origins: ["https://app.test"],
    models: ["delta-5.3"],
    timeout: { firstChunkMs: 5000 },
    fetch: (request: Request) => emulator.fetch(request),
    plugins: [proxyTelemetry, definePlugin({ onEvent: (event: ProxyEvent) => void events.push(event) })],
  });
  const telemetry = createTelemetry(page);
  const client = createClient({
    baseURL: "https://app.test/api",
    fetch: (request) => proxy.fetch(new Request(request.url.replace("/api", ""), request), {}),
    ...telemetry,
  });
  const waitForSpans = (count: number) => vi.waitFor(() => expect(worker.spans()).toHaveLength(count));
  return { page, worker, emulator, client, events, waitForSpans };
}

describe("page, Worker and gateway", () => {
  test("are one trace: the Worker's span is a child of the page's call, and the gateway is a child of the Worker's", async () => {
    const { page, worker, emulator, client, waitForSpans } = openTrace();
    const click = page.tracerProvider.getTracer("app").startSpan("click");
    await context.with(trace.setSpan(context.active(), click), () =>
      streamChat(client, createRequest("Hello")).result(),
    );
    await waitForSpans(1);
    const [call] = page.spans();
    const [served] = worker.spans();
    const { traceId } = click.spanContext();
    expect(call).toMatchObject({ traceId, parentId: click.spanContext().spanId });
    expect(served).toMatchObject({
      name: "POST chat",
      kind: SpanKind.SERVER,
      traceId,
      parentId: call?.spanId,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "sluice.route": "chat",
        "sluice.outcome": "complete",
        "sluice.request.id": call?.attributes["sluice.request.id"],
        "gen_ai.request.model": "delta-5.3",
      },
    });
    expect(emulator.requests[0]?.headers["traceparent"]).toBe(`00-${traceId}-${served?.spanId}-01`);
  });

  test("have a span of the Worker for each attempt of a call, which is an error if the attempt failed", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());
    const { page, worker, client, waitForSpans } = openTrace();
    await completeChat({ ...client, clock }, createRequest("Hello [[500:1]]"));
    await waitForSpans(2);
    expect(log.mock.calls).toEqual([[expect.stringContaining("502 upstream_error")]]);
    const [call] = page.spans();
    expect(worker.spans().map(({ parentId, traceId }) => [parentId, traceId])).toEqual(
      Array(2).fill([call?.spanId, call?.traceId]),
    );
    expect(worker.spans().map(({ status }) => status.code)).toEqual([
      SpanStatusCode.ERROR,
      SpanStatusCode.UNSET,
    ]);
    expect(await worker.points()).toMatchObject([
      {
        name: "http.server.request.duration",
        unit: "s",
        count: 1,
        attributes: { "http.response.status_code": 502, "error.type": "upstream_error" },
      },
      { count: 1, attributes: { "http.response.status_code": 200, "sluice.route": "chat" } },
    ]);
  });

  test("have a separate trace of the Worker for a request without a valid traceparent", async () => {
    const { page, worker, client, waitForSpans } = openTrace();
    const plain = { ...client, headers: async () => new Headers({ traceparent: "00-canary-canary-01" }) };
    await completeChat(plain, createRequest("Hello"));
    await waitForSpans(1);
    expect(worker.spans()[0]?.parentId).toBeUndefined();
    expect(worker.spans()[0]?.traceId).not.toBe(page.spans()[0]?.traceId);
  });

  test("do not report a refused request as an error of the server, and export no id, key or text", async () => {
    const canary = "canary-3d1f";
    const { page, worker, client, waitForSpans } = openTrace();
    await completeChat(client, { ...createRequest(canary), model: "gamma-chat-1-6-251015" } as never).catch(
      () => {},
    );
    await completeChat(client, createRequest(`${canary} Hello`));
    await waitForSpans(2);
    expect(worker.spans()[0]).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: { "sluice.outcome": "refused", "sluice.code": expect.any(String) },
    });
    const exported = (await page.all()) + (await worker.all());
    for (const secret of [canary, KEY, "ada@example.com"]) expect(exported).not.toContain(secret);
  });

  test("skip the jobs of a server, which belong to no request", () => {
    const worker = openSDK();
    createProxyTelemetry(worker).onEvent({
      job: "watch",
      id: "t-1",
      outcome: "complete",
      durationMs: 1000,
    } as unknown as ProxyEvent);
    expect(worker.spans()).toEqual([]);
  });
});
