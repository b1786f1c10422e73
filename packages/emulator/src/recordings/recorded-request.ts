import type { RecordedRequest } from "./recording.js";

/** Converts a request to a recorded request, with the values of its query redacted. */
export function toRecordedRequest(request: Request, text: string): RecordedRequest {
  const { pathname, searchParams } = new URL(request.url);
  const names = [...searchParams.keys()].map((name) => `${name}=[redacted]`);
  const path = names.length > 0 ? `${pathname}?${names.join("&")}` : pathname;
  const body = text === "" ? {} : { body: parseBody(text) };
  return { method: request.method, path, ...body };
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
