import { createFingerprint, createRandomId, hashToId } from "@sluice/core/extend";
import type { StoredThread } from "./stored-thread.js";
import type { Thread } from "./thread.js";

/** The `idempotency-key`s of responses in a stored thread. */
export interface ResponseKeys {
  /**
   * Derives the key of a response below a message. Its inputs are the same in all tabs and devices: the question or
   * request above it, the number of existing responses, and the request itself. Two devices that send the same request
   * therefore get one response. A chat never reuses a derived key for a second response, even if the app has removed the
   * first one.
   */
  readonly deriveKey: (below: string | undefined, request: unknown) => string;
  /** Allows another use of a key whose request was not sent. */
  readonly forgetKey: (key: string | undefined) => void;
}

/** Matches the ids that `createRandomId` creates. An id of the app may not be unique. */
const RANDOM_ID = /^\d+(-\d+){3}$/;

/** Creates the keys of one thread. */
export function createResponseKeys({
  client,
  collection,
  thread,
}: Pick<StoredThread, "client" | "collection" | "thread">): ResponseKeys {
  const sent = new Set<string | undefined>();
  return {
    deriveKey(below, request) {
      const above = thread.get(below)?.key ?? below;
      if (below === undefined || above === undefined || !RANDOM_ID.test(above)) return createRandomId();
      const input = `${countResponses(thread, below)} ${createFingerprint([client.user, collection, request])}`;
      const key = hashToId(`${above} ${input}`);
      if (sent.has(key)) return createRandomId();
      sent.add(key);
      return key;
    },
    forgetKey: (key) => void sent.delete(key),
  };
}

function countResponses(thread: Thread, below: string): number {
  return thread
    .listIds()
    .filter((id) => thread.getParent(id) === below && thread.get(id)?.message.role === "assistant").length;
}
