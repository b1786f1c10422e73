import { type Bytes, createErrorBody, createJSON, type HandlerResponse } from "../server/http.js";

/**
 * Returns a file, or the part that `Range` names. Returns the whole file for several ranges and for units other than
 * bytes, as HTTP allows.
 */
export function respondWithRange(
  file: Bytes,
  request: Request,
  headers: Readonly<Record<string, string>>,
): HandlerResponse {
  const whole = {
    status: 200,
    headers: { ...headers, "accept-ranges": "bytes", "content-length": String(file.length) },
    body: file,
  };
  // a range counts for GET only, and only for the version that the client has
  if (request.method !== "GET") return whole;
  const condition = request.headers.get("if-range");
  if (condition !== null && condition !== headers["etag"]) return whole;
  const part = parseRange(request.headers.get("range") ?? "", file.length);
  if (part === undefined) return whole;
  if (part === "unsatisfiable") {
    const body = createErrorBody(
      "The range begins behind the end.",
      "invalid_request_error",
      "range_not_satisfiable",
    );
    return createJSON(body, 416, { "content-range": `bytes */${file.length}` });
  }
  const { from, to } = part;
  const content = file.slice(from, to + 1);
  return {
    status: 206,
    headers: {
      ...whole.headers,
      "content-length": String(content.length),
      "content-range": `bytes ${from}-${to}/${file.length}`,
    },
    body: content,
  };
}

/** Parses a range into its first and last byte. Returns undefined if the response must contain the whole file. */
function parseRange(
  range: string,
  length: number,
): { from: number; to: number } | "unsatisfiable" | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/i.exec(range.trim()) ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return undefined;
  const from = first === "" ? Math.max(0, length - Number(last)) : Number(first);
  const to = first === "" || last === "" ? length - 1 : Math.min(Number(last), length - 1);
  if (first !== "" && last !== "" && Number(last) < from) return undefined;
  return from < length && (first !== "" || Number(last) > 0) ? { from, to } : "unsatisfiable";
}
