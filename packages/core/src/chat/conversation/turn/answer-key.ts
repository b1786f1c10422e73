import { randomId } from "../../../base/random-id.js";
import { fingerprintOf, hashOf } from "../../../base/same.js";
import type { Run } from "./state.js";

/** Ids and keys that this library makes: no other chat has the same one. */
const OWN = /^\d+(-\d+){3}$/;

/** Keys of the requests that a chat has sent, by its thread. */
const sent = new WeakMap<object, Set<string>>();

/**
 * Makes the `idempotency-key` of an answer below a message. Where other tabs or devices may ask for the same answer, it
 * follows from what all of them know: the question or the request above it, the number of answers that are there, and the
 * request itself. So whoever asks first, and whoever asks without having seen that, get one answer. A chat never sends
 * such a key for two answers, also where the app has taken the first one away.
 */
export function answerKey(
  { chatId, thread, storage }: Run,
  below: string | undefined,
  request: unknown,
): string {
  const known = sent.get(thread) ?? new Set();
  sent.set(thread, known);
  const above = thread.node(below)?.key ?? below;
  const isShared =
    storage.keeper !== undefined && below !== undefined && above !== undefined && OWN.test(above);
  const key = isShared
    ? keyOf(`${above} ${countAnswers(thread, below)} ${fingerprintOf([chatId, request])}`)
    : randomId();
  if (known.has(key)) return randomId();
  known.add(key);
  return key;
}

/** Lets a key be sent again: its request was not sent. */
export function forgetKey({ thread }: Run, key: string | undefined): void {
  if (key !== undefined) sent.get(thread)?.delete(key);
}

/** Makes 128 bits of a text that has as many, in the form of an id. */
function keyOf(text: string): string {
  return [0, 1, 2, 3].map((word) => hashOf(`${word} ${text}`)).join("-");
}

function countAnswers(thread: Run["thread"], below: string): number {
  return thread
    .ids()
    .filter((id) => thread.parentOf(id) === below && thread.node(id)?.message.role === "assistant").length;
}
