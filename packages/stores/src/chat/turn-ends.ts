import { isGatewayError } from "@sluice/core";
import { toError } from "@sluice/core/internal";
import type { ChatTurn } from "./message.js";

/** Makes the turn of a call that changed nothing and sent nothing. */
export function notSent(error: Error): ChatTurn {
  return { messages: [], outcome: "not-sent", error };
}

/** Continues with the result of `check`. If it throws, nothing is sent, and the chat does not change. */
export function unlessRefused<T>(
  check: () => T,
  continueTurn: (checked: T) => Promise<ChatTurn>,
): Promise<ChatTurn> {
  let checked: T;
  try {
    checked = check();
  } catch (cause) {
    return Promise.resolve(notSent(toError(cause)));
  }
  return continueTurn(checked);
}

/** Makes the turn of a queued message that another device has sent: it is in the thread, and its answer may be billed. */
export function sentElsewhere(): ChatTurn {
  return { messages: [], outcome: "truncated", error: elsewhere() };
}

/** Makes the error of a turn with which another device goes on. */
export function elsewhere(): Error {
  return new DOMException("another device went on with this", "ElsewhereError");
}

/**
 * Makes the error of a turn in which a request failed after an answer. The request alone may be free: the turn is not.
 * The error keeps its class and fields, and the error of the request is its `cause`.
 */
export function afterResponses(error: Error): Error {
  const isOwn = isGatewayError(error);
  if (isOwn && error.billing === "maybe") return error;
  const text = `earlier answers of this turn are kept and may be billed; the next one failed: ${error.message}`;
  const copy = new Error(text, { cause: error });
  // a class of the app may need its constructor
  if (isOwn) Object.setPrototypeOf(copy, Object.getPrototypeOf(error));
  return Object.assign(copy, { ...error, name: error.name, billing: "maybe" });
}
