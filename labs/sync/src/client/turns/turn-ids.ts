import { createRandomId, hashToId } from "@sluice/core/extend";
import { findResponsesAround } from "@sluice/stores/extend";
import { OWN, type Thread } from "../base.js";

// loaded with the first turn of a chat that runs on the server

/** Ids of turns that a server has taken from this page, by the thread. */
const taken = new WeakMap<Thread, Set<string>>();

/**
 * Makes the id of a turn below a message that is there. It follows from what all devices know: that message, the number of
 * its changes, and the number of answers there. So two devices that ask for the same thing ask for one turn. What this
 * page asks for after the server has taken such a turn is another one.
 */
export function turnIdBelow(thread: Thread, below: string): string {
  const node = thread.get(below);
  // an id that the app gives may be that of a later message, too
  if (!node || !OWN.test(below)) return createRandomId();
  const answers = findResponsesAround(thread, node.message).length;
  const isUntouched = node.message.role === "user" && node.revision + answers === 0;
  // a question that may have arrived is the turn that it began
  const id = isUntouched ? below : hashToId(`turn ${below} ${node.revision} ${answers}`);
  return taken.get(thread)?.has(id) ? createRandomId() : id;
}

/** Notes that the server has taken a turn of this page. */
export function noteTurn(thread: Thread, id: string): void {
  const known = taken.get(thread) ?? new Set();
  taken.set(thread, known.add(id));
}
