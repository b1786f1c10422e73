import { parseText } from "../server/request-body.js";
import type { Redactor } from "../server/secrets.js";
import { addSecrets } from "./exchange-secrets.js";
import type { RecordedRequest } from "./recording.js";

/**
 * Converts a request to a recorded request without the values of its query. Adds its other secrets to the redactor,
 * with which `redactRequest` removes them.
 */
export function toRecordedRequest(request: Request, text: string, redactor: Redactor): RecordedRequest {
  const { pathname, searchParams } = new URL(request.url);
  const names = [...searchParams.keys()].map((name) => `${name}=[redacted]`);
  const path = names.length > 0 ? `${pathname}?${names.join("&")}` : pathname;
  const body = parseText(text);
  addSecrets(request, body, redactor);
  return { method: request.method, path, ...(body !== undefined && { body }) };
}

/** Returns a recorded request without the secrets of the redactor. */
export function redactRequest({ method, path, body }: RecordedRequest, redactor: Redactor): RecordedRequest {
  return {
    method,
    path: redactor.redactText(path),
    ...(body !== undefined && { body: redactor.redactValue(body) }),
  };
}
