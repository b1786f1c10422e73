import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorkerd } from "../../packages/worker-proxy/test/support/workerd-process.ts";
import { findChromium } from "../../scripts/chromium.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { buildPage, buildWorker } from "../support/built-page.ts";
import type { TracedPage } from "../support/traced-page.ts";

declare const sendMessage: TracedPage;

const KEY = "sk-one-trace-0123456789";

interface Span {
  /** The sender of the span: `page`, `worker` or `gateway`. */
  readonly by: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
}

/** Serves the page, and receives spans by OTLP at `/<name of the sender>/v1/traces`. */
async function openSite(html: string) {
  const spans: Span[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const [, by = "", isOTLP] = new URL(request.url ?? "", "http://site").pathname.split("/");
    if (!isOTLP) return response.setHeader("content-type", "text/html").end(html);
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces).toString();
    bodies.push(body);
    for (const { scopeSpans } of JSON.parse(body).resourceSpans)
      for (const scope of scopeSpans) for (const span of scope.spans) spans.push({ ...span, by });
    return response.setHeader("content-type", "application/json").end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { url, spans, bodies, close };
}

/** A gateway with its own telemetry: each request has a span below the span of its `traceparent`. */
function openGateway(site: string) {
  const emulator = createEmulator({ apiKeys: [KEY], speed: Number.POSITIVE_INFINITY });
  const exporter = new OTLPTraceExporter({ url: `${site}/gateway/v1/traces` });
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const fetch: typeof emulator.fetch = async (input) => {
    const request = new Request(input);
    const [, traceId = "", spanId = ""] = (request.headers.get("traceparent") ?? "").split("-");
    const parent = trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: 1, isRemote: true });
    const span = provider.getTracer("gateway").startSpan("respond", {}, parent);
    const response = await emulator.fetch(request);
    span.end();
    return response;
  };
  return serve({ ...emulator, fetch }, { port: 0 });
}

describe.skipIf(!findChromium())(
  "a page in Chromium, a Worker in workerd and a gateway (skipped where there is no Chromium)",
  () => {
    let site: Awaited<ReturnType<typeof openSite>>;
    let gateway: Awaited<ReturnType<typeof openGateway>>;
    let worker: Awaited<ReturnType<typeof startWorkerd>>;

    beforeAll(async () => {
      site = await openSite(await buildPage("traced-page.ts"));
      gateway = await openGateway(site.url);
      worker = await startWorkerd({
        code: await buildWorker("traced-worker.ts"),
        texts: { GATEWAY: gateway.url, GATEWAY_API_KEY: KEY, SITE: site.url },
      });
    });
    afterAll(async () => {
      await worker?.close();
      await gateway?.close();
      await site?.close();
    });

    test("send the spans of one trace to an OTLP receiver, each a child of the previous span", async () => {
      const page = await (await getSharedBrowser()).newPage();
      await page.goto(`${site.url}/?worker=http://127.0.0.1:${worker.port}`);
      const outcomes = await page.evaluate(() =>
        Promise.all(["canary-51e8 one", "canary-51e8 two", "canary-51e8 three"].map(sendMessage)),
      );
      expect(outcomes).toEqual(Array(3).fill("complete"));
      const listSpans = (name: string) => site.spans.filter((span) => span.by === name);
      await expect
        .poll(() =>
          [listSpans("page"), listSpans("worker"), listSpans("gateway")].map(({ length }) => length),
        )
        .toEqual([3, 3, 3]);
      for (const pageSpan of listSpans("page")) {
        const [workerSpan] = listSpans("worker").filter(
          ({ parentSpanId }) => parentSpanId === pageSpan.spanId,
        );
        const [gatewaySpan] = listSpans("gateway").filter(
          ({ parentSpanId }) => parentSpanId === workerSpan?.spanId,
        );
        expect([pageSpan.name, workerSpan?.name, gatewaySpan?.name]).toEqual([
          "chat delta-5.3",
          "POST chat",
          "respond",
        ]);
        expect([workerSpan?.traceId, gatewaySpan?.traceId]).toEqual([pageSpan.traceId, pageSpan.traceId]);
      }
      // one trace for each message
      expect(new Set(site.spans.map(({ traceId }) => traceId)).size).toBe(3);
      const sent = site.bodies.join();
      for (const secret of ["canary-51e8", KEY, "ada@example.com"]) expect(sent).not.toContain(secret);
      expect(worker.logs).toEqual([]);
      await page.close();
    });
  },
);
