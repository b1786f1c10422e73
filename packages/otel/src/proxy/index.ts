import {
  type Attributes,
  type MeterProvider,
  metrics,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { ProxyEvent, ProxyPlugin, RequestEvent } from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { NAME, SCHEMA_URL } from "../name.js";
import { omitUndefined } from "../omit-undefined.js";
import { createOpenSpans } from "../open-spans.js";
import { formatTraceparent, parseTraceparent } from "../traceparent.js";

/** Options of {@link createProxyTelemetry}. */
export interface ProxyTelemetryOptions {
  /** Creates the spans. @default the globally registered provider, even if it is registered later */
  readonly tracerProvider?: TracerProvider;
  /** Creates the metrics. @default the globally registered provider at the time of this call */
  readonly meterProvider?: MeterProvider;
  /**
   * Maximum number of open request spans, at least 1. Another span ends the oldest as `abandoned`.
   *
   * @default 10000
   */
  readonly maxOpenSpans?: number;
}

/** Traces and metrics of a proxy: a plugin of `createProxy`. */
interface ProxyTelemetry extends ProxyPlugin {
  /** Starts the span of a request to the gateway, and returns its `traceparent`. */
  readonly traceparent: NonNullable<ProxyPlugin["traceparent"]>;
  /** Ends the span of a request. Ignores events of jobs, which have no request. */
  readonly onEvent: (event: ProxyEvent) => void;
}

/** Bucket boundaries of a request's duration, in seconds: a model may think for minutes. */
const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/**
 * Creates traces and metrics of a proxy. Each request has a span of kind `SERVER` in the page's trace if the request
 * has a `traceparent`, else in a new trace. The gateway's spans are its children. The spans contain no user id, prompt,
 * message or key.
 *
 * @throws {TypeError} for a `maxOpenSpans` below 1
 * @example
 * ```ts
 * const proxy = createProxy<Env>({ ...options, plugins: [createProxyTelemetry()] });
 * ```
 */
export function createProxyTelemetry({
  tracerProvider = trace.getTracerProvider(),
  meterProvider = metrics.getMeterProvider(),
  maxOpenSpans = 10_000,
}: ProxyTelemetryOptions = {}): ProxyTelemetry {
  if (!(maxOpenSpans >= 1))
    throw new TypeError(`maxOpenSpans: must be a number from 1 up, got ${maxOpenSpans}`);
  const tracer = tracerProvider.getTracer(NAME, undefined, { schemaUrl: SCHEMA_URL });
  const openSpans = createOpenSpans(maxOpenSpans);
  const duration = meterProvider
    .getMeter(NAME, undefined, { schemaUrl: SCHEMA_URL })
    .createHistogram("http.server.request.duration", {
      unit: "s",
      description: "Duration of HTTP server requests.",
      advice: { explicitBucketBoundaries: SECONDS },
    });
  return definePlugin({
    traceparent(request) {
      const span = startSpan(request);
      openSpans.getOrStart(span.spanContext().spanId, () => span);
      return formatTraceparent(span.spanContext());
    },
    onEvent(event) {
      if (event.type !== "request") return;
      const endedAt = Date.now();
      const span = takeSpan(event, endedAt - event.durationMs);
      span?.setAttributes(createSpanAttributes(event));
      if (hasFailed(event)) span?.setStatus({ code: SpanStatusCode.ERROR });
      span?.end(endedAt);
      duration.record(event.durationMs / 1000, createMetricAttributes(event));
    },
  });

  /**
   * Returns the span of a finished request. Undefined if the span was abandoned. Starts the span of a request that was
   * not sent.
   */
  function takeSpan(event: RequestEvent, startedAt: number): Span | undefined {
    const key = parseTraceparent(event.ownTraceparent)?.spanId;
    if (key === undefined) return startSpan({ ...event, startedAt });
    const span = openSpans.getOrStart(key, () => startSpan({ ...event, startedAt }));
    openSpans.close(key);
    return span;
  }

  function startSpan({ method, route, traceparent, startedAt }: StartedRequest): Span {
    const parent = parseTraceparent(traceparent);
    const attributes = omitUndefined({ "http.request.method": method, "sluice.route": route });
    return tracer.startSpan(
      `${method} ${route ?? ""}`.trim(),
      { kind: SpanKind.SERVER, attributes, startTime: startedAt },
      parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT,
    );
  }
}

/** The start of a request. */
type StartedRequest = Omit<Parameters<ProxyTelemetry["traceparent"]>[0], "route"> &
  Pick<RequestEvent, "route">;

/** Checks for an error of the proxy or the gateway. A refusal with 4xx is an error of the client. */
function hasFailed({ outcome }: RequestEvent): boolean {
  return outcome === "error" || outcome === "truncated";
}

/** Creates the attributes of the metric: few values each, and none chosen by a caller. */
function createMetricAttributes(event: RequestEvent): Attributes {
  return omitUndefined({
    "http.request.method": event.method,
    "http.response.status_code": event.status,
    "sluice.route": event.route,
    "error.type": hasFailed(event) ? (event.code ?? String(event.status)) : undefined,
  });
}

function createSpanAttributes(event: RequestEvent): Attributes {
  const { usage = {} } = event;
  return omitUndefined({
    ...createMetricAttributes(event),
    "sluice.outcome": event.outcome,
    "sluice.code": event.code,
    "sluice.request.id": event.requestId,
    "sluice.stream.id": event.streamId,
    "sluice.replayed": event.isReplay,
    "sluice.upstream.status": event.upstreamStatus,
    "sluice.upstream.attempts": event.attempts,
    "sluice.first_byte_ms": event.firstByteMs,
    "sluice.spent": event.spent,
    "gen_ai.request.model": event.model,
    "gen_ai.usage.input_tokens": usage.prompt_tokens,
    "gen_ai.usage.output_tokens": usage.completion_tokens,
  });
}
