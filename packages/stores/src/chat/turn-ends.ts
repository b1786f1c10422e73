import { isGatewayError } from "@sluice/core";
import { toError } from "@sluice/core/extend";
import type { ChatTurn } from "./message.js";

/** Creates the turn of a call that changed nothing and sent nothing. */
export function createUnsentTurn(error: Error): ChatTurn {
  return { messages: [], outcome: "not-sent", error };
}

/** Continues with the result of `check`. If `check` throws, nothing is sent and the chat does not change. */
export function continueIfValid<T>(
  check: () => T,
  continueTurn: (checked: T) => Promise<ChatTurn>,
): Promise<ChatTurn> {
  let checked: T;
  try {
    checked = check();
  } catch (cause) {
    return Promise.resolve(createUnsentTurn(toError(cause)));
  }
  return continueTurn(checked);
}

/**
 * Creates the error of a turn with a failed request after a response. The failed request may be free, but the turn is
 * not. The copy has the class and fields of the error, and the error itself as its `cause`.
 */
export function toTurnError(error: Error): Error {
  const isOwn = isGatewayError(error);
  if (isOwn && error.billing === "maybe") return error;
  const text = `earlier responses of this turn stay and may be billed; the next one failed: ${error.message}`;
  const copy = new Error(text, { cause: error });
  // only for own errors, because a class of the app may need its constructor
  if (isOwn) Object.setPrototypeOf(copy, Object.getPrototypeOf(error));
  return Object.assign(copy, { ...error, name: error.name, billing: "maybe" });
}
