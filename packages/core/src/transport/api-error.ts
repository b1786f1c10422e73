import type { APIError } from "../vocabulary/errors.js";
import { describeResponse, type ResponseContext, type StatusLine } from "./describe-response.js";
import { createRefusal } from "./refusal.js";

/** Creates the error of a response with its body. */
export function createAPIError(
  answer: StatusLine,
  body: string,
  { requestId, ...context }: ResponseContext & { readonly requestId?: string | undefined },
): APIError {
  return createRefusal(answer.status, body, requestId, describeResponse(answer, body, context));
}
