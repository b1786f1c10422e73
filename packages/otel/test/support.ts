import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  type Sampler,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { type Client, type ClientOptions, createClient } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { createTelemetry, type TelemetryOptions } from "@sluice/otel";

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

/** The real SDK, with exporters in memory. */
export function openSDK(sampler?: Sampler) {
  const spans = new InMemorySpanExporter();
  const measures = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: measures, exportIntervalMillis: 3_600_000 });
  const tracerProvider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter: spans })],
    ...(sampler && { sampler }),
  });
  const meterProvider = new MeterProvider({ readers: [reader] });
  return {
    tracerProvider,
    meterProvider,
    /** Finished spans, in the order of their end. */
    spans: () =>
      spans.getFinishedSpans().map((span) => ({
        name: span.name,
        kind: span.kind,
        attributes: span.attributes,
        status: span.status,
        events: span.events,
        traceId: span.spanContext().traceId,
        spanId: span.spanContext().spanId,
        scope: span.instrumentationScope,
        parentId: span.parentSpanContext?.spanId,
        ms: span.duration[0] * 1000 + span.duration[1] / 1e6,
      })),
    /** Points of all metrics: name, attributes, and the sum of the values or of a histogram. */
    async points() {
      await reader.forceFlush();
      const [last] = measures.getMetrics().slice(-1);
      return (last?.scopeMetrics ?? []).flatMap(({ metrics }) =>
        metrics.flatMap(({ descriptor: { name, unit }, dataPoints }) =>
          dataPoints.map(({ attributes, value }) => ({
            name,
            unit,
            attributes,
            ...(typeof value === "number"
              ? { sum: value }
              : (value as { readonly count: number; readonly sum: number })),
          })),
        ),
      );
    },
    /** Everything that was exported, as one string. */
    async all(): Promise<string> {
      await reader.forceFlush();
      const ended = spans
        .getFinishedSpans()
        .map(({ name, attributes, events, status, links }) => ({ name, attributes, events, status, links }));
      return JSON.stringify([ended, measures.getMetrics()]);
    },
  };
}

/** Creates a client of an emulator, with telemetry. */
export function openTraced(
  options: Partial<ClientOptions> = {},
  telemetryOptions: TelemetryOptions = {},
  emulator = createEmulator({ speed: Infinity }),
  sampler?: Sampler,
) {
  const sdk = openSDK(sampler);
  const { tracerProvider, meterProvider } = sdk;
  const { baseURL } = emulator.clientOptions;
  const telemetry = createTelemetry({ tracerProvider, meterProvider, baseURL, ...telemetryOptions });
  const client: Client = createClient({
    ...emulator.clientOptions,
    retry: { maxRetryAfterMs: 0 },
    ...options,
    headers: telemetry.headers,
    onEvent(event) {
      telemetry.onEvent(event);
      options.onEvent?.(event);
    },
  });
  return { ...sdk, emulator, telemetry, client };
}
