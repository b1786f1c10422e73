import { useSyncExternalStore } from "react";
import { roomOf, watchAddress } from "../rooms.js";

/*
 * The part of the address behind # names the conversation: a reload finds it again, Back leads to the one before,
 * and a link opens it in another tab. In another room it names that one, and the conversation is the last that was open.
 */

let openId = createId();

readAddress();
// before all who watch the address, so that they find a name in it
watchAddress(readAddress);

/** The conversation that the address names. */
export function useConversationId(): string {
  return useSyncExternalStore(watchAddress, namedId);
}

/** The address of the conversation that was open last. */
export function chatAddress(): string {
  return `#${openId}`;
}

/** Opens a conversation in which nothing has been said yet. */
export function openNew(): void {
  location.hash = createId();
}

function namedId(): string {
  return openId;
}

function readAddress(): void {
  const { hash } = location;
  if (roomOf(hash) !== "chat") return;
  openId = hash.slice(1) || createId();
  if (hash.length <= 1) history.replaceState(null, "", `#${openId}`);
}

/** Not `randomUUID`, which plain-http pages do not have. */
function createId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(3)), (word) => word.toString(36)).join("");
}
