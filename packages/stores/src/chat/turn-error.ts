import { isGatewayError } from "@sluice/core";

/**
 * Makes the error of a turn in which a request failed after an answer. The request alone may be free: the turn is not.
 * The error keeps its class and fields, and the error of the request is its `cause`.
 */
export function afterAnswers(error: Error): Error {
  const isOwn = isGatewayError(error);
  if (isOwn && error.outcome === "unknown") return error;
  const text = `earlier answers of this turn are kept and may be billed; the next one failed: ${error.message}`;
  const copy = new Error(text, { cause: error });
  // a class of the app may need its constructor
  if (isOwn) Object.setPrototypeOf(copy, Object.getPrototypeOf(error));
  return Object.assign(copy, { ...error, name: error.name, outcome: "unknown" });
}
