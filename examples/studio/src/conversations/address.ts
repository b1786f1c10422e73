import { useSyncExternalStore } from "react";

/*
 * The part of the address behind # names the conversation: a reload finds it again, Back leads to the one before,
 * and a link opens it in another tab.
 */

nameIfNew();

/** The conversation that the address names. */
export function useConversationId(): string {
  return useSyncExternalStore(watchAddress, namedId);
}

/** Opens a conversation in which nothing has been said yet. */
export function openNew(): void {
  location.hash = createId();
}

function namedId(): string {
  return location.hash.slice(1);
}

function watchAddress(onChange: () => void): () => void {
  const onHashChange = () => {
    nameIfNew();
    onChange();
  };
  addEventListener("hashchange", onHashChange);
  return () => removeEventListener("hashchange", onHashChange);
}

function nameIfNew(): void {
  if (namedId() === "") history.replaceState(null, "", `#${createId()}`);
}

/** Not `randomUUID`, which plain-http pages do not have. */
function createId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(3)), (word) => word.toString(36)).join("");
}
