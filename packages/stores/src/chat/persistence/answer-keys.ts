import { createFingerprint, createRandomId, hashToId, OWN } from "@sluice/core/internal";
import type { Thread } from "../thread.js";
import type { KeptThread } from "./parts.js";

/** The `idempotency-key`s of answers in a stored thread. */
export interface AnswerKeys {
  /**
   * Makes the key of an answer below a message. It follows from what all tabs and devices know: the question or the
   * request above it, the number of answers that are there, and the request itself. So whoever asks first, and whoever
   * asks without having seen that, get one answer. A chat never sends such a key for two answers, also where the app has
   * taken the first one away.
   */
  readonly keyBelow: (below: string | undefined, request: unknown) => string;
  /** Lets a key be sent again: its request was not sent. */
  readonly forgetKey: (key: string | undefined) => void;
}

/** Creates the keys of one thread. */
export function createAnswerKeys({
  client,
  collection,
  thread,
}: Pick<KeptThread, "client" | "collection" | "thread">): AnswerKeys {
  const sent = new Set<string | undefined>();
  return {
    keyBelow(below, request) {
      const above = thread.node(below)?.key ?? below;
      if (below === undefined || above === undefined || !OWN.test(above)) return createRandomId();
      const asked = `${countAnswers(thread, below)} ${createFingerprint([client.user, collection, request])}`;
      const key = hashToId(`${above} ${asked}`);
      if (sent.has(key)) return createRandomId();
      sent.add(key);
      return key;
    },
    forgetKey: (key) => void sent.delete(key),
  };
}

function countAnswers(thread: Thread, below: string): number {
  return thread
    .ids()
    .filter((id) => thread.parentOf(id) === below && thread.node(id)?.message.role === "assistant").length;
}
