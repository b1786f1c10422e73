import { APIError, type APIErrorFields, jsonOf } from "../errors.js";

/** Returns the beginning of an answer's text, by default the 8 KB that an error keeps. */
export function excerpt(text: string, length = 8192): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** Status line of an answer. It is shown if the body has no message. */
export interface AnswerLine {
  readonly status: number;
  readonly statusText?: string;
}

/**
 * Reads an error answer in any form that gateways send: `{error: {message, type, code, param}}`, only code and message,
 * flat (`message` or `msg`), `{error: "text"}`, `{errors: […]}`, `{detail}`, in an array, a JSON string, HTML, text or
 * nothing.
 */
export function apiErrorOf(
  answer: AnswerLine,
  body: string,
  {
    requestId,
    ...more
  }: Pick<APIErrorFields, "retryAfterMs" | "source"> & { readonly requestId?: string | undefined } = {},
): APIError {
  // some gateways answer a stream request with an error as an event
  const text = body.trim().replace(/^data:\s*(.*)[\s\S]*$/, "$1");
  const { message, type, code: apiCode, param } = errorFieldsOf(parseJSON(text)) ?? {};
  return new APIError(
    excerpt(message ?? messageOfText(answer, text)),
    { status: answer.status, type, apiCode, param, ...more, body: excerpt(body) },
    { requestId },
  );
}

/** Error fields of a body, as the gateway wrote them; absent where it has none. */
export interface ErrorFields {
  readonly message?: string | undefined;
  readonly type?: string | undefined;
  readonly code?: string | undefined;
  readonly param?: string | undefined;
}

/** Finds the error in a parsed body of any known form; undefined for other bodies. */
export function errorFieldsOf(json: unknown): ErrorFields | undefined {
  const body: unknown = Array.isArray(json) ? json[0] : json;
  if (typeof body === "string") return { message: textOf(body) };
  if (!isRecord(body)) return undefined;
  const { error, errors, detail } = body;
  const inner: unknown = error ?? (Array.isArray(errors) ? errors[0] : undefined);
  const outer = fieldsOf(body);
  if (typeof inner === "string") return { ...outer, message: inner || outer.message };
  const fields = isRecord(inner) ? fieldsOf(inner) : outer;
  return { ...fields, message: fields.message ?? outer.message ?? textOf(detail) ?? jsonOf(detail) };
}

function fieldsOf({ message, msg, type, code, param }: Record<string, unknown>): ErrorFields {
  return {
    message: textOf(message) ?? textOf(msg),
    type: textOf(type),
    code: textOf(code),
    param: textOf(param),
  };
}

/** Parses `text` as JSON; undefined if it is not JSON. */
export function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns true if a value is an object with fields, and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function messageOfText({ status, statusText }: AnswerLine, text: string): string {
  const line = `HTTP ${status}${statusText ? ` ${statusText}` : ""}`;
  if (text === "") return `${line}: the answer is empty`;
  if (text.startsWith("<")) {
    const title = /<title[^<>]*>([^<]*)/i.exec(text)?.[1]?.trim();
    const page = title ? `the page "${title}"` : "a page";
    return `${line}: the answer is ${page} and not the gateway's JSON; check the base URL`;
  }
  if (/^[[{"]/.test(text)) return `${line}: the answer is JSON without a readable error message`;
  const start = excerpt(text, 500);
  return status === 200 ? `${line}: the answer is no JSON; check the base URL: ${start}` : start;
}
