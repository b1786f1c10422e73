import { isSpanContextValid, type SpanContext } from "@opentelemetry/api";

/**
 * Writes the header of W3C Trace Context; undefined where nothing records. `tracestate` and baggage are left out: they are
 * free text, and the proxy passes neither on.
 */
export function traceparentOf(span: SpanContext | undefined): string | undefined {
  if (!span || !isSpanContextValid(span)) return undefined;
  return `00-${span.traceId}-${span.spanId}-${(span.traceFlags & 0xff).toString(16).padStart(2, "0")}`;
}

/** Reads a well-formed header, as the proxy passes it on. */
export function spanContextOf(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] =
    /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})/.exec(traceparent ?? "") ?? [];
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(span) ? span : undefined;
}
