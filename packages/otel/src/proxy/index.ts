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
import type { AnyEvent, BegunRequest, ProxyEvent, ProxyPlugin } from "@sluice/worker-proxy";
import { known } from "../known.js";
import { NAME, SCHEMA_URL } from "../name.js";
import { createOpenSpans } from "../open-spans.js";
import { spanContextOf, traceparentOf } from "../traceparent.js";

/** Options of {@link createProxyTelemetry}. */
export interface ProxyTelemetryOptions {
  /** Creates the spans. @default the provider that is registered globally, now or later */
  readonly tracerProvider?: TracerProvider;
  /** Creates the metrics. @default the provider that is registered globally when this is called */
  readonly meterProvider?: MeterProvider;
  /**
   * The maximum of open spans of requests, from 1 up. One more ends the oldest as `abandoned`.
   *
   * @default 10000
   */
  readonly maxOpenSpans?: number;
}

/** Traces and metrics of a proxy: a plugin of `createProxy`. */
interface ProxyTelemetry extends ProxyPlugin {
  /** Begins the span of a request that goes to the gateway, and returns its `traceparent`. */
  readonly traceparent: (begun: BegunRequest) => string | undefined;
  /** Ends the span of a request. Events of jobs, which have no request, are left out. */
  readonly onEvent: (event: AnyEvent) => void;
}

/** Bounds of a request's duration, in seconds: an answer may think for minutes. */
const SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/**
 * Creates traces and metrics of a proxy. Each request has a span of kind `SERVER`, in the trace of the page where the
 * request has a `traceparent`; without one it is a trace of its own. The gateway's spans are its children. It has no user's
 * id, no prompt, no answer and no key.
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
  const open = createOpenSpans(maxOpenSpans);
  const duration = meterProvider
    .getMeter(NAME, undefined, { schemaUrl: SCHEMA_URL })
    .createHistogram("http.server.request.duration", {
      unit: "s",
      description: "Duration of HTTP server requests.",
      advice: { explicitBucketBoundaries: SECONDS },
    });
  return {
    traceparent(begun) {
      const span = start(begun);
      open.of(span.spanContext().spanId, () => span);
      return traceparentOf(span.spanContext());
    },
    onEvent(event) {
      if (event.kind !== "request") return;
      const endedAt = Date.now();
      const span = spanOf(event, endedAt - event.durationMs);
      span?.setAttributes(attributesOf(event));
      if (hasFailed(event)) span?.setStatus({ code: SpanStatusCode.ERROR });
      span?.end(endedAt);
      duration.record(event.durationMs / 1000, measured(event));
    },
  };

  /** Returns the span of a request that is over; undefined where it was abandoned. One that was not sent has none yet. */
  function spanOf(event: ProxyEvent, startedAt: number): Span | undefined {
    const key = spanContextOf(event.ownTraceparent)?.spanId;
    if (key === undefined) return start({ ...event, startedAt });
    const span = open.of(key, () => start({ ...event, startedAt }));
    open.close(key);
    return span;
  }

  function start({ method, route, traceparent, startedAt }: Begun): Span {
    const parent = spanContextOf(traceparent);
    const attributes = known({ "http.request.method": method, "sluice.route": route });
    return tracer.startSpan(
      `${method} ${route ?? ""}`.trim(),
      { kind: SpanKind.SERVER, attributes, startTime: startedAt },
      parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT,
    );
  }
}

type Begun = Omit<BegunRequest, "route"> & Pick<ProxyEvent, "route">;

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
