/** The header of W3C Trace Context: version, trace id, parent id, flags; neither id may be all zeros. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** Returns a well-formed `traceparent`; undefined for anything else. */
export function wellFormed(traceparent: unknown): string | undefined {
  return typeof traceparent === "string" && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}
