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
  type EndEvent,
  endAttributes,
  errorClassOf,
  errorTypeOf,
  isInference,
  operationOf,
  requestAttributes,
  serverAttributes,
  type ToolEvent,
  toolAttributes,
  toolErrorOf,
} from "./attributes.js";
import { createInstruments, type Instruments } from "./instruments.js";
import { NAME, SCHEMA_URL } from "./name.js";
import { createOpenSpans } from "./open-spans.js";
import { traceparentOf } from "./traceparent.js";

/** Options of {@link createTelemetry}. */
export interface TelemetryOptions {
  /** Creates the spans. @default the provider that is registered globally, now or later */
  readonly tracerProvider?: TracerProvider;
  /** Creates the metrics. @default the provider that is registered globally when the first call ends */
  readonly meterProvider?: MeterProvider;
  /** Value of `gen_ai.provider.name`: your gateway's name. @default "sluice" */
  readonly provider?: string;
  /** `baseURL` of the client, for `server.address` and `server.port`. @default spans and metrics have neither */
  readonly baseURL?: string;
  /**
   * The maximum of open spans of calls and tools, from 1 up. One more ends the oldest as `abandoned`.
   *
   * @default 1000
   */
  readonly maxOpenSpans?: number;
}

/** Traces and metrics of a client: options of `createClient`. */
interface Telemetry {
  /**
   * Returns the `traceparent` of a request: of its call's span, or of the active span for a request beside the calls.
   * Empty without a tracer. Spread the result into your own headers if you have some. Never throws.
   */
  readonly headers: (request: CallInfo) => Readonly<Record<string, string>>;
  /** Records an event as spans and metrics. Call it in your own `onEvent` if you have one. */
  readonly onEvent: (event: ClientEvent) => void;
}

/**
 * Creates traces and metrics by the OpenTelemetry conventions for generative AI, v0.1.0: options of `createClient`. Each
 * call has a span of kind `CLIENT` from its request to its end, with a span event for each retry. Each run of a tool has an
 * `execute_tool` span under its call. Spans and metrics contain no prompt, response, argument, output, key or message of
 * an error, but the stop sequences of a request.
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
  const open = createOpenSpans(maxOpenSpans);
  const answers = createAnswers(maxOpenSpans);
  const server: Attributes = baseURL === undefined ? {} : serverAttributes(baseURL);
  let instruments: Instruments | undefined;
  return { headers, onEvent };

  function headers(request: CallInfo): Readonly<Record<string, string>> {
    const span = isOfCall(request) ? spanOf(request) : trace.getSpan(context.active());
    const traceparent = traceparentOf(span?.spanContext());
    return traceparent ? { traceparent } : {};
  }

  function onEvent(event: ClientEvent): void {
    if ("kind" in event) noteCall(event);
    else if ("toolCallId" in event) noteTool(event);
  }

  function noteCall(event: CallEvent): void {
    const span = spanOf(event, event.type === "end" ? event.durationMs : 0);
    if (span) noteStep(span, event);
    if (event.type === "first-chunk" && isInference(operationOf(event)))
      measures().firstChunk(baseOf(event), event.durationMs);
    if (event.type !== "end") return;
    open.close(event.callId);
    measures().call(baseOf(event), event);
  }

  function noteStep(span: Span, event: CallEvent): void {
    if (event.type === "request") {
      const resent = event.attempt > 1 && { "http.request.resend_count": event.attempt - 1 };
      span.setAttributes({ ...server, ...resent });
    }
    if (event.type === "response") span.setAttributes(responseAttributes(event));
    if (event.type === "retry")
      span.addEvent("sluice.retry", {
        "sluice.attempt": event.attempt,
        "sluice.delay_ms": event.delayMs,
        "error.type": errorClassOf(event.error),
      });
    if (event.type === "first-chunk")
      span.setAttribute("gen_ai.response.time_to_first_chunk", event.durationMs / 1000);
    if (event.type === "end") endCall(span, event);
  }

  function endCall(span: Span, event: EndEvent): void {
    if (event.messageId !== undefined && event.outcome === "tool-calls")
      answers.keep(event.messageId, span.spanContext());
    span.setAttributes(endAttributes(event));
    // without the error's message, which may quote what was asked
    if (errorTypeOf(event)) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  function noteTool(event: ToolEvent): void {
    const key = `${event.messageId} ${event.toolCallId}`;
    const ms = event.type === "tool-end" ? event.durationMs : 0;
    const span = open.of(key, () => startTool(event, ms));
    if (event.type !== "tool-end") return;
    open.close(key);
    const errorType = toolErrorOf(event);
    span?.setAttributes({ "sluice.outcome": event.state, ...(errorType && { "error.type": errorType }) });
    if (errorType) span?.setStatus({ code: SpanStatusCode.ERROR });
    span?.end();
    measures().tool(event.name, event.durationMs, errorType);
  }

  /**
   * Returns the span of a call; undefined where it was abandoned. One that is unknown began `ms` milliseconds ago: it
   * failed before it was sent.
   */
  function spanOf(call: CallRequest, ms = 0): Span | undefined {
    const { callId, model } = call;
    return open.of(callId, () =>
      tracer.startSpan(`${operationOf(call)} ${model ?? ""}`.trim(), {
        kind: SpanKind.CLIENT,
        attributes: requestAttributes(call, provider),
        ...startedBefore(ms),
      }),
    );
  }

  function startTool(event: ToolEvent, ms: number): Span {
    const answer = answers.of(event.messageId);
    const parent = answer ? trace.setSpanContext(context.active(), answer) : context.active();
    const attributes = toolAttributes(event);
    return tracer.startSpan(`execute_tool ${event.name}`, { attributes, ...startedBefore(ms) }, parent);
  }

  function baseOf(event: CallEvent): Attributes {
    return {
      "gen_ai.operation.name": operationOf(event),
      "gen_ai.provider.name": provider,
      ...(event.model !== undefined && { "gen_ai.request.model": event.model }),
      ...server,
    };
  }

  /** Returns the instruments: made late, because the global provider of metrics may be registered after this. */
  function measures(): Instruments {
    instruments ??= createInstruments(meterProvider ?? metrics.getMeterProvider());
    return instruments;
  }
}

/** Returns the start of a span that began `ms` milliseconds ago; nothing for one that begins now. */
function startedBefore(ms: number): { readonly startTime?: number } {
  return ms > 0 ? { startTime: Date.now() - ms } : {};
}

function isOfCall(request: CallInfo): request is CallRequest {
  return request.callId !== undefined && request.kind !== undefined;
}

function responseAttributes({ status, requestId }: Extract<CallEvent, { type: "response" }>): Attributes {
  return { "http.response.status_code": status, ...(requestId && { "sluice.request.id": requestId }) };
}

/** Keeps the spans of the last answers that called tools, by message. */
function createAnswers(most: number) {
  const known = new Map<string, SpanContext>();
  return {
    of: (messageId: string) => known.get(messageId),
    keep(messageId: string, span: SpanContext): void {
      known.set(messageId, span);
      const [oldest] = known.keys();
      if (known.size > most && oldest !== undefined) known.delete(oldest);
    },
  };
}
