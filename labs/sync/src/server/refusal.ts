import { Refusal } from "@sluice/worker-proxy/plugin";

const FAILURES = {
  account_missing: [400, "send the account of this device's copy in `x-sluice-account`"],
  account_changed: [409, "another user is signed in than the one whose data this device has"],
  invalid_request: [400, "send the JSON object that the path takes"],
  invalid_id: [400, "an id has 1 to 256 characters, without NUL and lone surrogates"],
  invalid_cursor: [400, "send a cursor as the server returned it"],
  unknown_cursor: [409, "the server does not know this cursor: pull the collection from the start"],
  unknown_question: [404, "the server does not have this message of the user: push it first"],
  unknown_turn: [404, "the server does not know this turn"],
  turn_in_progress: [409, "another turn of this collection has not ended: wait for it, or stop it"],
  too_many_turns: [429, "20 turns of this user have not ended: wait for one, or stop it"],
  not_waiting: [409, "this call does not wait for this decision"],
  text_too_short: [400, "search for a word of at least two letters or digits"],
} as const satisfies Record<string, readonly [status: number, message: string]>;

/**
 * Creates the refusal of a request. An operation may throw it, and stores nothing then.
 *
 * @param detail replaces the default message of the code
 */
export function createRefusal(code: keyof typeof FAILURES, detail?: string): Refusal {
  const [status, message] = FAILURES[code];
  return new Refusal("custom", { error: { status, code, message: detail ?? message } });
}
