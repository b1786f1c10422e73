import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { createClient, streamChat } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { createTelemetry } from "@sluice/otel";
import { expect, test } from "vitest";

/** Schema of the conventions, as named by the README and the guide. */
const SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai/0.1.0";

interface Received {
  readonly path: string | undefined;
  readonly text: string;
}

/** A receiver of OTLP over HTTP that stores everything. */
async function openReceiver() {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    received.push({ path: request.url, text: Buffer.concat(pieces).toString() });
    response.setHeader("content-type", "application/json").end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { url, received, close };
}

test("a collector gets the span and the metrics of a call over the wire, without its texts", async () => {
  const { url, received, close } = await openReceiver();
  const tracerProvider = new TracerProvider({
    spanProcessors: [
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${url}/v1/traces` }) }),
    ],
  });
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url: `${url}/v1/metrics` }),
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const telemetry = createTelemetry({ tracerProvider, meterProvider });
  const emulator = createEmulator({ speed: Infinity });
  const client = createClient({ ...emulator.clientOptions, ...telemetry });
  const messages = [{ role: "user", content: "canary-0f6e" }] as const;
  const { usage } = await streamChat(client, { model: "alpha-v4.1-flash", messages }).result();
  await tracerProvider.shutdown();
  await meterProvider.shutdown();
  await close();

  const readSent = (path: string) =>
    received.filter((request) => request.path === path).map(({ text }) => JSON.parse(text));
  const [{ resourceSpans }] = readSent("/v1/traces");
  const [span] = resourceSpans[0].scopeSpans[0].spans;
  expect(resourceSpans[0].scopeSpans[0]).toMatchObject({
    scope: { name: "@sluice/otel" },
    schemaUrl: SCHEMA_URL,
  });
  expect(span).toMatchObject({
    name: "chat alpha-v4.1-flash",
    traceId: expect.stringMatching(/^[\da-f]{32}$/),
  });
  expect(span.attributes).toContainEqual({
    key: "gen_ai.usage.input_tokens",
    value: { intValue: usage?.prompt_tokens },
  });
  expect(span.attributes).toContainEqual({
    key: "gen_ai.response.finish_reasons",
    value: { arrayValue: { values: [{ stringValue: "stop" }] } },
  });
  expect(readSent("/v1/metrics")[0].resourceMetrics[0].scopeMetrics[0].schemaUrl).toBe(SCHEMA_URL);
  const names = readSent("/v1/metrics").flatMap(({ resourceMetrics }) =>
    resourceMetrics[0].scopeMetrics[0].metrics.map(({ name }: { name: string }) => name),
  );
  expect(new Set(names)).toEqual(
    new Set([
      "gen_ai.client.inference.duration",
      "gen_ai.client.inference.time_to_first_chunk",
      "gen_ai.client.inference.usage.input_tokens",
      "gen_ai.client.inference.usage.output_tokens",
      "gen_ai.client.inference.usage.cache_read.input_tokens",
      "gen_ai.client.inference.operation.input_tokens",
      "gen_ai.client.inference.operation.output_tokens",
    ]),
  );
  expect(received.map(({ text }) => text).join()).not.toContain("canary-0f6e");
});
