import { APIError, type APIErrorFields } from "../vocabulary/errors.js";
import { type ErrorFields, errorFieldsOf, excerpt, pageOf, parseJSON, wordsOf } from "./error-response.js";

/** Status line of an answer. It is shown if the body has no message. */
export interface AnswerLine {
  readonly status: number;
  readonly statusText?: string;
}

interface APIErrorContext extends Pick<APIErrorFields, "retryAfterMs" | "source"> {
  readonly requestId?: string | undefined;
  /** Fields that were read from the body already. */
  readonly fields?: ErrorFields | undefined;
}

/**
 * Reads an error answer in any form that gateways send: `{error: {message, type, code, param}}`, only code and message,
 * flat (`message` or `msg`), `{error: "text"}`, `{errors: […]}`, `{detail}`, in an array, a JSON string, HTML, text or
 * nothing.
 */
export function apiErrorOf(
  answer: AnswerLine,
  body: string,
  { requestId, fields, ...more }: APIErrorContext = {},
): APIError {
  // some gateways answer a stream request with an error as an event
  const text = body.trim().replace(/^data:\s*(.*)[\s\S]*$/, "$1");
  const { message, type, code: apiCode, param } = fields ?? errorFieldsOf(parseJSON(text)) ?? {};
  return new APIError(
    excerpt(message ?? messageOfText(answer, text)),
    { status: answer.status, type, apiCode, param, ...more, body: excerpt(body) },
    { requestId },
  );
}

function messageOfText({ status, statusText }: AnswerLine, text: string): string {
  const line = `HTTP ${status}${statusText ? ` ${statusText}` : ""}`;
  if (text === "") return `${line}: the answer is empty`;
  // a gateway that is down answers with a page, too
  const hint = status < 500 ? "; check the base URL" : "";
  if (text.startsWith("<")) return `${line}: the answer is ${pageOf(text)} and not the gateway's JSON${hint}`;
  const words = excerpt(status < 400 ? wordsOf(text) : text, 500);
  const end = words && `: ${words}`;
  if (/^[[{"]/.test(text)) return `${line}: the answer is JSON without a readable error message${end}`;
  return status === 200 ? `${line}: the answer is no JSON${hint}${end}` : words || line;
}
