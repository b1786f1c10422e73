import { asError } from "@sluice/core/internal";
import type { ThreadTurn } from "./message.js";

/** Makes the turn of a call that changed nothing and sent nothing. */
export function notSent(error: Error): ThreadTurn {
  return { messages: [], outcome: "not-sent", error };
}

/** Continues with the result of `check`. If it throws, nothing is sent, and the chat does not change. */
export function unlessRefused<T>(
  check: () => T,
  continueTurn: (checked: T) => Promise<ThreadTurn>,
): Promise<ThreadTurn> {
  let checked: T;
  try {
    checked = check();
  } catch (cause) {
    return Promise.resolve(notSent(asError(cause)));
  }
  return continueTurn(checked);
}

/** Makes the turn of a queued message that another device has sent: it is in the thread, and its answer may be billed. */
export function sentElsewhere(): ThreadTurn {
  return { messages: [], outcome: "interrupted", error: elsewhere() };
}

/** Makes the error of a turn with which another device goes on. */
export function elsewhere(): Error {
  return new DOMException("another device went on with this", "ElsewhereError");
}
