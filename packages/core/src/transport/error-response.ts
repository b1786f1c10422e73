import { APIError, type APIErrorFields, toJSONText } from "../vocabulary/errors.js";

/** Returns the beginning of a response's text, by default 8 KB, as errors keep it. */
export function excerpt(text: string, length = 8192): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/**
 * Returns the part of a text that an error may show. Of JSON, only its error field: the rest may be the model's text,
 * which must not reach logs.
 */
export function readErrorText(text: string): string {
  const json = parseJSON(text);
  if (isRecord(json)) return toJSONText(json.error ?? json.errors) ?? "";
  return /[[\]{}]/.test(text) ? "" : text;
}

/** Error fields of a body, as the gateway wrote them. */
export interface ErrorFields {
  readonly message?: string | undefined;
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  readonly param?: string | undefined;
}

/** Finds the error in a parsed body of any known format; undefined for other bodies. */
export function findErrorFields(json: unknown): ErrorFields | undefined {
  const body: unknown = Array.isArray(json) ? json[0] : json;
  if (typeof body === "string") return { message: readText(body) };
  if (!isRecord(body)) return undefined;
  const { error, errors, detail } = body;
  const inner: unknown = error ?? (Array.isArray(errors) ? errors[0] : undefined);
  const outer = readFields(body);
  if (typeof inner === "string") return { ...outer, message: inner || outer.message };
  const fields = isRecord(inner) ? readFields(inner) : outer;
  return { ...fields, message: fields.message ?? outer.message ?? readText(detail) ?? toJSONText(detail) };
}

const NO_REASON = /^(?:|https?:\/\/\S+|ok|success(?:ful)?|succeed(?:ed)?)$/i;

/**
 * Finds the reason of a failure: the first value that is a text, or has a `message` or a `code`. Skips addresses and
 * success messages, which some gateways send in every response.
 */
export function findReason(values: readonly unknown[]): string | undefined {
  return values
    .flatMap((value) => {
      const { message, code } = findErrorFields(value) ?? {};
      return [message, code];
    })
    .find((text) => text !== undefined && !NO_REASON.test(text.trim()));
}

function readFields({ message, msg, type, code, param }: Record<string, unknown>): ErrorFields {
  return {
    message: readText(message) ?? readText(msg),
    type: readText(type),
    code: readText(code),
    param: readText(param),
  };
}

/**
 * Parses `text` as JSON; undefined if it is not JSON.
 *
 * @example
 * ```ts
 * const notes = parseJSON('["a", "b"]');
 * ```
 */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns true for an object that is not an array.
 *
 * @example
 * ```ts
 * const json = parseJSON('{"id": "a-1"}');
 * const id = isRecord(json) ? json["id"] : undefined;
 * ```
 */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readText(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Describes an HTML page by its title. */
export function describePage(text: string): string {
  const title = /<title[^<>]*>([^<]*)/i.exec(text)?.[1]?.trim();
  return title ? `the page "${title}"` : "a page";
}

/** Status line of a response. Error messages show it if the body lacks a message. */
export interface StatusLine {
  readonly status: number;
  readonly statusText?: string;
  /** Address of the response, if known. */
  readonly url?: string;
}

interface APIErrorContext extends Pick<APIErrorFields, "retryAfterMs" | "source" | "reason"> {
  readonly requestId?: string | undefined;
  /** Fields that were already read from the body. */
  readonly fields?: ErrorFields | undefined;
}

/**
 * Creates the error of a response in any format that gateways send: `{error: {message, type, code, param}}`, only code
 * and message, flat (`message` or `msg`), `{error: "text"}`, `{errors: […]}`, `{detail}`, in an array, a JSON string,
 * HTML, text or nothing.
 */
export function createAPIError(
  answer: StatusLine,
  body: string,
  { requestId, fields, ...more }: APIErrorContext = {},
): APIError {
  // some gateways respond to a stream request with an error as an event
  const text = body.trim().replace(/^data:\s*(.*)[\s\S]*$/, "$1");
  const { message, type, code, param } = fields ?? findErrorFields(parseJSON(text)) ?? {};
  const isForeign = message === undefined && isForeignResponse(answer.status, text);
  // the proxy's own message already names the address or the option
  const isWrong = isForeign || (more.source === "proxy" && code === "not_found");
  return new APIError(
    excerpt(message ?? describeBody(answer, text, isForeign)),
    {
      status: answer.status,
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

function describeBody({ status, statusText, url }: StatusLine, text: string, isForeign: boolean): string {
  const line = `HTTP ${status}${statusText ? ` ${statusText}` : ""}`;
  const words = excerpt(status < 400 ? readErrorText(text) : text, 500);
  const said = text.startsWith("<") ? describePage(text) : words;
  const place = url ? `; ${url} is neither the gateway nor the proxy` : "";
  if (isForeign)
    return `${line}: the response is ${said || "empty"} and not the gateway's JSON; check the base URL${place}`;
  if (text === "") return `${line}: the response is empty`;
  // an unavailable gateway also responds with a page
  const hint = status < 500 ? "; check the base URL" : "";
  if (text.startsWith("<")) return `${line}: the response is ${said} and not the gateway's JSON${hint}`;
  const end = words && `: ${words}`;
  if (isJSON(text))
    return parseJSON(text) === undefined
      ? `${line}: the response is broken JSON${end}`
      : `${line}: the response is JSON without a readable error message${end}`;
  return status === 200 ? `${line}: the response is not JSON${hint}${end}` : words || line;
}
