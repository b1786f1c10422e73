import {
  type Attributes,
  context,
  type MeterProvider,
  metrics,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { CallInfo, ClientEvent } from "@sluice/core";
import {
  type CallEvent,
  type CallRequest,
  createEndAttributes,
  createRequestAttributes,
  createServerAttributes,
  createToolAttributes,
  type EndEvent,
  getErrorClass,
  getErrorType,
  getOperation,
  getToolError,
  isInference,
  type ToolEvent,
} from "./attributes.js";
import { createInstruments, type Instruments } from "./instruments.js";
import { NAME, SCHEMA_URL } from "./name.js";
import { createOpenSpans } from "./open-spans.js";
import { formatTraceparent } from "./traceparent.js";

/** Options of {@link createTelemetry}. */
export interface TelemetryOptions {
  /** Creates the spans. @default the globally registered provider, even if it is registered later */
  readonly tracerProvider?: TracerProvider;
  /** Creates the metrics. @default the globally registered provider when the first call ends */
  readonly meterProvider?: MeterProvider;
  /** Value of `gen_ai.provider.name`: your gateway's name. @default "sluice" */
  readonly provider?: string;
  /** `baseURL` of the client, for `server.address` and `server.port`. @default spans and metrics have neither */
  readonly baseURL?: string;
  /**
   * Maximum number of open spans of calls and tools, at least 1. Another span ends the oldest as `abandoned`.
   *
   * @default 1000
   */
  readonly maxOpenSpans?: number;
}

/** Traces and metrics of a client: options of `createClient`. */
interface Telemetry {
  /**
   * Returns the `traceparent` of a request: of its call's span, or of the active span for a request outside of calls.
   * Empty without a tracer. Spread the result into your own headers if you have some. Never throws.
   */
  readonly headers: (request: CallInfo) => Readonly<Record<string, string>>;
  /** Records an event as spans and metrics. Call it in your own `onEvent` if you have an `onEvent`. */
  readonly onEvent: (event: ClientEvent) => void;
}

/**
 * Creates traces and metrics with the OpenTelemetry conventions for generative AI, v0.1.0: options of `createClient`.
 * Each call has a span of kind `CLIENT` from its request to its end, with a span event for each retry. Each tool run
 * has an `execute_tool` span below its call. Spans and metrics contain no prompt, response, argument, output, key or
 * error message.
 *
 * | span                                                     | for                                                     |
 * | -------------------------------------------------------- | ------------------------------------------------------- |
 * | `chat <model>`                                           | a chat, with all attempts, to the end of its response   |
 * | `generate_content <model>`                               | an image, or the request that starts a video task       |
 * | `fetch_response`                                         | a response that the proxy has stored, read again        |
 * | `get_task`, `create_asset`, `get_asset`, `upload_media`… | one poll, registration or upload                        |
 * | `execute_tool <tool>`                                    | one run of a chat's tool, under the call that called it |
 *
 * | metric                                                  | kind      | unit      |
 * | ------------------------------------------------------- | --------- | --------- |
 * | `gen_ai.client.inference.duration`                      | histogram | `s`       |
 * | `gen_ai.client.inference.time_to_first_chunk`           | histogram | `s`       |
 * | `gen_ai.client.inference.usage.input_tokens`            | counter   | `{token}` |
 * | `gen_ai.client.inference.usage.output_tokens`           | counter   | `{token}` |
 * | `gen_ai.client.inference.usage.cache_read.input_tokens` | counter   | `{token}` |
 * | `gen_ai.client.inference.usage.reasoning.output_tokens` | counter   | `{token}` |
 * | `gen_ai.client.inference.operation.input_tokens`        | histogram | `{token}` |
 * | `gen_ai.client.inference.operation.output_tokens`       | histogram | `{token}` |
 * | `gen_ai.client.operation.duration`                      | histogram | `s`       |
 * | `gen_ai.execute_tool.duration`                          | histogram | `s`       |
 *
 * `inference` is a chat, an image or the start of a video, and `operation.duration` all other calls. Sum the counters for
 * costs. Spans have the operation, the provider, the settings of the request and `gen_ai.conversation.id` from their start,
 * for samplers, and at their end the usage, the finish reasons and `error.type`. Ours are `sluice.outcome`,
 * `sluice.call.id`, `sluice.message.id` and `sluice.request.id`. A sampler can drop polls by `gen_ai.operation.name`.
 *
 * @throws {TypeError} for a `maxOpenSpans` below 1
 * @example
 * ```ts
 * const baseURL = "/api";
 * const client = createClient({ baseURL, ...createTelemetry({ baseURL }) });
 * ```
 */
export function createTelemetry({
  tracerProvider = trace.getTracerProvider(),
  meterProvider,
  provider = "sluice",
  baseURL,
  maxOpenSpans = 1000,
}: TelemetryOptions = {}): Telemetry {
  if (!(maxOpenSpans >= 1))
    throw new TypeError(`maxOpenSpans: must be a number from 1 up, got ${maxOpenSpans}`);
  const tracer = tracerProvider.getTracer(NAME, undefined, { schemaUrl: SCHEMA_URL });
  const openSpans = createOpenSpans(maxOpenSpans);
  const messageSpans = createMessageSpans(maxOpenSpans);
  const server: Attributes = baseURL === undefined ? {} : createServerAttributes(baseURL);
  let instruments: Instruments | undefined;
  return { headers, onEvent };

  function headers(request: CallInfo): Readonly<Record<string, string>> {
    const span = isCallRequest(request) ? getSpan(request) : trace.getSpan(context.active());
    const traceparent = formatTraceparent(span?.spanContext());
    return traceparent ? { traceparent } : {};
  }

  function onEvent(event: ClientEvent): void {
    if ("kind" in event) recordCall(event);
    else if ("toolCallId" in event) recordTool(event);
  }

  function recordCall(event: CallEvent): void {
    const span = getSpan(event, event.type === "end" ? event.durationMs : 0);
    if (span) updateSpan(span, event);
    if (event.type === "first-chunk" && isInference(getOperation(event)))
      getInstruments().recordFirstChunk(createMetricAttributes(event), event.durationMs);
    if (event.type !== "end") return;
    openSpans.close(event.callId);
    getInstruments().recordCall(createMetricAttributes(event), event);
  }

  function updateSpan(span: Span, event: CallEvent): void {
    if (event.type === "request") {
      const resendCount = event.attempt > 1 && { "http.request.resend_count": event.attempt - 1 };
      span.setAttributes({ ...server, ...resendCount });
    }
    if (event.type === "response") span.setAttributes(createResponseAttributes(event));
    if (event.type === "retry")
      span.addEvent("sluice.retry", {
        "sluice.attempt": event.attempt,
        "sluice.delay_ms": event.delayMs,
        "error.type": getErrorClass(event.error),
      });
    if (event.type === "first-chunk")
      span.setAttribute("gen_ai.response.time_to_first_chunk", event.durationMs / 1000);
    if (event.type === "end") endCall(span, event);
  }

  function endCall(span: Span, event: EndEvent): void {
    if (event.messageId !== undefined && event.outcome === "tool-calls")
      messageSpans.add(event.messageId, span.spanContext());
    span.setAttributes(createEndAttributes(event));
    // without the error's message, which may quote the prompt
    if (getErrorType(event)) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  function recordTool(event: ToolEvent): void {
    const key = `${event.messageId} ${event.toolCallId}`;
    const ms = event.type === "tool-end" ? event.durationMs : 0;
    const span = openSpans.getOrStart(key, () => startTool(event, ms));
    if (event.type !== "tool-end") return;
    openSpans.close(key);
    const errorType = getToolError(event);
    span?.setAttributes({ "sluice.outcome": event.state, ...(errorType && { "error.type": errorType }) });
    if (errorType) span?.setStatus({ code: SpanStatusCode.ERROR });
    span?.end();
    getInstruments().recordTool(event.name, event.durationMs, errorType);
  }

  /**
   * Returns the span of a call. Undefined if the span was abandoned. An unknown call failed before it was sent: its
   * span began `ms` milliseconds ago.
   */
  function getSpan(call: CallRequest, ms = 0): Span | undefined {
    const { callId, model } = call;
    return openSpans.getOrStart(callId, () =>
      tracer.startSpan(`${getOperation(call)} ${model ?? ""}`.trim(), {
        kind: SpanKind.CLIENT,
        attributes: createRequestAttributes(call, provider),
        ...computeStart(ms),
      }),
    );
  }

  function startTool(event: ToolEvent, ms: number): Span {
    const message = messageSpans.get(event.messageId);
    const parent = message ? trace.setSpanContext(context.active(), message) : context.active();
    const attributes = createToolAttributes(event);
    return tracer.startSpan(`execute_tool ${event.name}`, { attributes, ...computeStart(ms) }, parent);
  }

  function createMetricAttributes(event: CallEvent): Attributes {
    return {
      "gen_ai.operation.name": getOperation(event),
      "gen_ai.provider.name": provider,
      ...(event.model !== undefined && { "gen_ai.request.model": event.model }),
      ...server,
    };
  }

  /** Returns the instruments. Creates them late, because the global provider of metrics may be registered later. */
  function getInstruments(): Instruments {
    instruments ??= createInstruments(meterProvider ?? metrics.getMeterProvider());
    return instruments;
  }
}

/** Returns the start time of a span that began `ms` milliseconds ago. Empty for a span that begins now. */
function computeStart(ms: number): { readonly startTime?: number } {
  return ms > 0 ? { startTime: Date.now() - ms } : {};
}

function isCallRequest(request: CallInfo): request is CallRequest {
  return request.callId !== undefined && request.kind !== undefined;
}

function createResponseAttributes({
  status,
  requestId,
}: Extract<CallEvent, { type: "response" }>): Attributes {
  return { "http.response.status_code": status, ...(requestId && { "sluice.request.id": requestId }) };
}

/** Stores the spans of the last messages with tool calls, by message id. */
function createMessageSpans(max: number) {
  const known = new Map<string, SpanContext>();
  return {
    get: (messageId: string) => known.get(messageId),
    add(messageId: string, span: SpanContext): void {
      known.set(messageId, span);
      const [oldest] = known.keys();
      if (known.size > max && oldest !== undefined) known.delete(oldest);
    },
  };
}
