import { APIError, type APIErrorFields } from "../types/errors.js";
import {
  describePage,
  type ErrorFields,
  excerpt,
  findErrorFields,
  parseJSON,
  readErrorText,
} from "./error-response.js";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** Status line of a response. Error messages show it if the body lacks a message. */
export interface StatusLine {
  readonly status: number;
  readonly statusText?: string;
  /** Address of the response, if known. */
  readonly url?: string;
}

/** What the caller knows about the error of a response besides its body. */
interface ResponseContext extends Pick<APIErrorFields, "retryAfterMs" | "source"> {
  /** Fields that were already read from the body. */
  readonly fields?: ErrorFields | undefined;
  readonly requestId?: string | undefined;
}

/**
 * Creates the error of a response in any format that gateways send: `{error: {message, type, code, param}}`, only code
 * and message, flat (`message` or `msg`), `{error: "text"}`, `{errors: […]}`, `{detail}`, in an array, a JSON string,
 * HTML, text or nothing.
 */
export function createAPIError(
  response: StatusLine,
  body: string,
  { fields, requestId, ...more }: ResponseContext,
): APIError {
  // some gateways respond to a stream request with an error as an event
  const text = body.trim().replace(/^data:\s*(.*)[\s\S]*$/, "$1");
  const { message, type, code, param } = fields ?? findErrorFields(parseJSON(text)) ?? {};
  const isForeign = message === undefined && isForeignResponse(response.status, text);
  // the proxy's own message already names the address or the option
  const isWrong = isForeign || (more.source === "proxy" && code === "not_found");
  return new APIError(
    excerpt(message ?? describeBody(response, text, isForeign)),
    {
      status: response.status,
      type,
      code,
      param,
      ...(isWrong && { reason: "wrong-address" }),
      ...more,
      body: excerpt(body),
    },
    { requestId },
  );
}

/**
 * Returns true for a response of a server that is neither the gateway nor the proxy, which both send JSON. A web site
 * sends a page for each path, or does not know the path or the method.
 */
function isForeignResponse(status: number, text: string): boolean {
  if (status === 200) return text.startsWith("<");
  return [404, 405, 501].includes(status) && !isJSON(text);
}

function isJSON(text: string): boolean {
  return /^[[{"]/.test(text);
}

function describeBody(response: StatusLine, text: string, isForeign: boolean): string {
  const { status, statusText } = response;
  const line = `HTTP ${status}${statusText ? ` ${statusText}` : ""}`;
  const words = excerpt(status < 400 ? readErrorText(text) : text, 500);
  const page = text.startsWith("<") ? describePage(text) : undefined;
  try {
    if (process.env.NODE_ENV !== "production")
      return explainBody(response, text, { line, words, page, isForeign });
  } catch {}
  return [line, page ?? words].filter(Boolean).join(": ");
}

/** Describes a body for developers: what it is, in place of the gateway's JSON, and what to check. */
function explainBody(
  { status, url }: StatusLine,
  text: string,
  {
    line,
    words,
    page,
    isForeign,
  }: { line: string; words: string; page: string | undefined; isForeign: boolean },
): string {
  // an unavailable gateway also responds with a page
  const hint = isForeign || status < 500 ? "; check the base URL" : "";
  if (isForeign || page) {
    const content = page ?? (words || "empty");
    const origin = isForeign && url ? `; ${url} is neither the gateway nor the proxy` : "";
    return `${line}: the response is ${content} and not the gateway's JSON${hint}${origin}`;
  }
  if (text === "") return `${line}: the response is empty`;
  const end = words && `: ${words}`;
  if (isJSON(text))
    return `${line}: the response is ${parseJSON(text) === undefined ? "broken JSON" : "JSON without a readable error message"}${end}`;
  return status === 200 ? `${line}: the response is not JSON${hint}${end}` : words || line;
}
