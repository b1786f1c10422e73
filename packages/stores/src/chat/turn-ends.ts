import { isGatewayError } from "@sluice/core";
import { toError } from "@sluice/core/extend";
import type { ChatTurn } from "./message.js";

/** The turn in flight of a chat: a turn of this page, or of a runner. */
export interface RunningTurn {
  readonly result: Promise<ChatTurn>;
  /** Id of the message that the page works on: a response in flight or with open calls. */
  readonly workedOn: string | undefined;
  readonly status: "submitted" | "streaming" | undefined;
  /** Puts a response that has grown into the thread. */
  readonly showGrowth: () => void;
  /** Ends the turn at once. The received text stays. */
  readonly stop: () => void;
  /** Ends the part of this page. A runner continues the turn. */
  readonly close: () => void;
  /** Reports that a tool call was approved, denied or answered. */
  readonly noteCallChange: () => void;
}

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
