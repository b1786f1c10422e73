/** Joins the messages of an error and its causes. */
export function joinMessages(error: unknown): string {
  if (typeof error !== "object" || error === null) return String(error);
  const {
    message,
    cause,
    error: inner,
    errors,
    httpResponse,
    responseBody,
  } = error as Record<string, unknown>;
  const inside = [cause, httpResponse, responseBody, ...(Array.isArray(errors) ? errors : [])]
    .filter(Boolean)
    .map(joinMessages);
  return [String(message ?? JSON.stringify(inner ?? error)), ...inside].join("; ");
}
