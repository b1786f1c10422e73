import {
  type Attributes,
  type MeterProvider,
  metrics,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { AnyEvent, ProxyEvent } from "@sluice/worker-proxy";
import { known } from "../known.js";
import { NAME } from "../name.js";
import { spanContextOf } from "../traceparent.js";

/** Options of {@link proxyTelemetry}. */
export interface ProxyTelemetryOptions {
  /** Makes the spans. @default the provider that is registered globally, now or later */
  readonly tracerProvider?: TracerProvider;
  /** Makes the metrics. @default the provider that is registered globally when this is called */
  readonly meterProvider?: MeterProvider;
}

/** Traces and metrics of a proxy. */
export interface ProxyTelemetry {
  /** Makes a span of an event: for `onEvent` of the proxy. Events of jobs, which have no request, are left out. */
  readonly onEvent: (event: AnyEvent) => void;
}

/** Bounds of a request's duration, in seconds: an answer may think for minutes. */
const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/**
 * Creates traces and metrics of a proxy, from its events. Each request has a span of kind `SERVER`, in the trace of the
 * page where the request has a `traceparent`; without one it is a trace of its own. It has no user's id, no prompt, no
 * answer and no key. A span is made when the request is over, so that none is open.
 *
 * @example
 * ```ts
 * const { onEvent } = proxyTelemetry();
 * const proxy = createProxy<Env>({ ...options, onEvent });
 * ```
 */
export function proxyTelemetry({
  tracerProvider = trace.getTracerProvider(),
  meterProvider = metrics.getMeterProvider(),
}: ProxyTelemetryOptions = {}): ProxyTelemetry {
  const tracer = tracerProvider.getTracer(NAME);
  const duration = meterProvider.getMeter(NAME).createHistogram("http.server.request.duration", {
    unit: "s",
    description: "Duration of HTTP server requests.",
    advice: { explicitBucketBoundaries: SECONDS },
  });
  return {
    onEvent(event) {
      if (event.kind !== "request") return;
      const parent = spanContextOf(event.traceparent);
      const endedAt = Date.now();
      const attributes = attributesOf(event);
      const span = tracer.startSpan(
        `${event.method} ${event.route ?? ""}`.trim(),
        { kind: SpanKind.SERVER, attributes, startTime: endedAt - event.durationMs },
        parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT,
      );
      if (hasFailed(event)) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(endedAt);
      duration.record(event.durationMs / 1000, measured(event));
    },
  };
}

/** True for what is an error of a server: a refusal of 4xx is an error of its client. */
function hasFailed({ outcome }: ProxyEvent): boolean {
  return outcome === "failed" || outcome === "cut";
}

/** Returns the attributes of the metric: few values each, and none that a caller chooses. */
function measured(event: ProxyEvent): Attributes {
  return known({
    "http.request.method": event.method,
    "http.response.status_code": event.status,
    "sluice.route": event.route,
    "error.type": hasFailed(event) ? (event.code ?? String(event.status)) : undefined,
  });
}

function attributesOf(event: ProxyEvent): Attributes {
  const { usage = {} } = event;
  return known({
    ...measured(event),
    "sluice.outcome": event.outcome,
    "sluice.code": event.code,
    "sluice.request.id": event.requestId,
    "sluice.stream.id": event.streamId,
    "sluice.replayed": event.replayed,
    "sluice.upstream.status": event.upstreamStatus,
    "sluice.upstream.attempts": event.attempts,
    "sluice.first_byte_ms": event.firstByteMs,
    "sluice.spent": event.spent,
    "gen_ai.request.model": event.model,
    "gen_ai.usage.input_tokens": usage.prompt_tokens,
    "gen_ai.usage.output_tokens": usage.completion_tokens,
  });
}
