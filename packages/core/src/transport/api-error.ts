import { APIError, type APIErrorFields } from "../vocabulary/errors.js";
import { type ErrorFields, errorFieldsOf, excerpt, pageOf, parseJSON, wordsOf } from "./error-response.js";

/** Status line of an answer. It is shown if the body has no message. */
export interface AnswerLine {
  readonly status: number;
  readonly statusText?: string;
  /** Address that answered, where it is known. */
  readonly url?: string;
}

interface APIErrorContext extends Pick<APIErrorFields, "retryAfterMs" | "source" | "reason"> {
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
  const isForeign = message === undefined && isOfOtherServer(answer.status, text);
  // the proxy names the address or the option in its message
  const isWrong = isForeign || (more.source === "proxy" && apiCode === "not_found");
  return new APIError(
    excerpt(message ?? messageOfText(answer, text, isForeign)),
    {
      status: answer.status,
      type,
      apiCode,
      param,
      ...(isWrong && { reason: "wrong-address" }),
      ...more,
      body: excerpt(body),
    },
    { requestId },
  );
}

/**
 * Returns true for an answer of a server that is neither the gateway nor the proxy: a site sends its page for each path,
 * or does not know the path or the method. Both of ours send JSON.
 */
function isOfOtherServer(status: number, text: string): boolean {
  if (status === 200) return text.startsWith("<");
  return [404, 405, 501].includes(status) && !isJSON(text);
}

function isJSON(text: string): boolean {
  return /^[[{"]/.test(text);
}

function messageOfText({ status, statusText, url }: AnswerLine, text: string, isForeign: boolean): string {
  const line = `HTTP ${status}${statusText ? ` ${statusText}` : ""}`;
  const words = excerpt(status < 400 ? wordsOf(text) : text, 500);
  const said = text.startsWith("<") ? pageOf(text) : words;
  const place = url ? `; ${url} is neither the gateway nor the proxy` : "";
  if (isForeign)
    return `${line}: the answer is ${said || "empty"} and not the gateway's JSON; check the base URL${place}`;
  if (text === "") return `${line}: the answer is empty`;
  // a gateway that is down answers with a page, too
  const hint = status < 500 ? "; check the base URL" : "";
  if (text.startsWith("<")) return `${line}: the answer is ${said} and not the gateway's JSON${hint}`;
  const end = words && `: ${words}`;
  if (isJSON(text)) return `${line}: the answer is JSON without a readable error message${end}`;
  return status === 200 ? `${line}: the answer is no JSON${hint}${end}` : words || line;
}
