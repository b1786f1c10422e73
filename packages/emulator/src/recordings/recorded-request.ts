import type { RecordedRequest } from "./recording.js";

/** Describes a request as a recording has it, with the values of its query redacted. */
export function requestOf(request: Request, text: string): RecordedRequest {
  const { pathname, searchParams } = new URL(request.url);
  const names = [...searchParams.keys()].map((name) => `${name}=[redacted]`);
  const path = names.length > 0 ? `${pathname}?${names.join("&")}` : pathname;
  const body = text === "" ? {} : { body: valueFrom(text) };
  return { method: request.method, path, ...body };
}

function valueFrom(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
