import { isSpanContextValid, type SpanContext } from "@opentelemetry/api";

/**
 * Formats the W3C Trace Context header. Returns undefined if nothing is recorded. Omits `tracestate` and baggage: they
 * are free text, and the proxy forwards neither.
 */
export function formatTraceparent(span: SpanContext | undefined): string | undefined {
  if (!span || !isSpanContextValid(span)) return undefined;
  return `00-${span.traceId}-${span.spanId}-${(span.traceFlags & 0xff).toString(16).padStart(2, "0")}`;
}

/** Parses a well-formed header, as the proxy forwards it. */
export function parseTraceparent(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = ""] =
    /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})/.exec(traceparent ?? "") ?? [];
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(span) ? span : undefined;
}
