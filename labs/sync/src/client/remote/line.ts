import { APIError, type Client, ResponseError } from "@sluice/core";
import {
  createBackoff,
  createListeners,
  createPagePresence,
  fetchOffers,
  rejectOnAbort,
  toError,
  toIdleClock,
} from "@sluice/core/extend";
import type { Backoff } from "../base.js";
import { OFFER, type Wire } from "./wire.js";

/** Time until a proxy that keeps no conversations is asked again, in milliseconds. */
const ASK_AGAIN_MS = 600_000;
/** Shortest time between a failure and the next attempt, also where the network is just back, in milliseconds. */
const LEAST_MS = 1000;

/** State of the connection to the proxy, shared by all collections. */
export interface Line {
  /** True while the proxy keeps no conversations: the storage works as its local one. */
  readonly isLocal: boolean;
  /** The failure that all requests wait for; undefined while there is none. */
  readonly error: Error | undefined;
  /** Waits until a request may be sent. @throws the signal's reason */
  ready(signal: AbortSignal): Promise<void>;
  /**
   * Notes a failure. Returns true if all requests have to wait for it, and false where only this one failed.
   */
  failed(error: unknown): Promise<boolean>;
  /** Notes an answer that was good. */
  worked(): void;
  /** Ends the connection for the life of the page: its user has signed out. */
  close(): void;
  /** Calls `listener` when `isLocal` or `error` has changed. Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void;
}

/** Creates the state of a connection. Nothing is sent before the first failure. */
export function createLine(client: Client, wire: Wire): Line {
  const { subscribe, notify } = createListeners<[]>();
  const clock = toIdleClock(client.clock);
  const backoff: Backoff = createBackoff(
    { clock, random: client.random },
    { limit: Number.POSITIVE_INFINITY, firstMs: LEAST_MS, longestMs: 60_000 },
  );
  let isLocal = false;
  let wasTold = false;
  let isClosed = false;
  let hasWorked = false;
  let error: Error | undefined;
  /** The wait that all requests share. Never rejects. */
  let pause: Promise<void> | undefined;
  return {
    get isLocal() {
      return isLocal;
    },
    get error() {
      return error;
    },
    async ready(signal) {
      while (pause) await rejectOnAbort(pause, signal);
      signal.throwIfAborted();
    },
    async failed(cause) {
      if (isClosed) return true;
      if (isForAll(cause)) {
        wait(toError(cause));
        return true;
      }
      // one answer of a server on the way is not the end: the proxy itself says what it offers
      if (wire.isOffered || hasWorked || !isOfNoPart(cause)) return false;
      if (pause) return true;
      const offers = await fetchOffers(client).catch((reason: Error) => reason);
      if (offers instanceof Error) wait(offers);
      else if (offers.includes(OFFER)) return false;
      else stayLocal();
      return true;
    },
    worked() {
      if (isClosed) return;
      hasWorked = true;
      backoff.reset();
      if (!error && !isLocal) return;
      error = undefined;
      isLocal = false;
      notify();
    },
    close() {
      isClosed = true;
      isLocal = true;
      error = undefined;
      pause = new Promise(() => {});
      notify();
    },
    subscribe,
  };

  function wait(reason: Error): void {
    if (pause) return;
    error = reason;
    pause = untilBack(reason).then(resume);
    notify();
  }

  /** Ends with the wait, or sooner when the network is back or the page is shown. */
  async function untilBack(reason: Error): Promise<void> {
    const over = new AbortController();
    const early = new Promise<void>((resolve) => {
      const presence = createPagePresence(() => true);
      const leave = presence.subscribe(() => {
        if (!presence.absence) resolve();
      });
      over.signal.addEventListener("abort", leave);
    }).then(() => clock.sleep(LEAST_MS, over.signal));
    early.catch(() => {});
    await Promise.race([backoff.wait(reason, { signal: over.signal }), early]).catch(() => {});
    over.abort(null);
  }

  function stayLocal(): void {
    if (!wasTold)
      client.warn({
        path: "",
        rule: "remote.offer",
        message:
          "the proxy keeps no conversations, so that they stay in this browser: its operator adds `conversations()` of @sluice/durable",
      });
    wasTold = true;
    isLocal = true;
    error = undefined;
    pause = clock.sleep(ASK_AGAIN_MS).then(resume);
    notify();
  }

  function resume(): void {
    if (!isClosed) pause = undefined;
  }
}

/** Statuses that say something of the server or the user, and not of one request. */
const FOR_ALL = [401, 403, 408, 410, 425, 429, 502, 503, 504];
/** Codes of bounds and rights of one conversation. */
const OF_ONE = ["too_many_leases", "too_many_readers", "conversation_gone"];

function isForAll(error: unknown): boolean {
  if (!(error instanceof APIError)) return !(error instanceof ResponseError);
  return FOR_ALL.includes(error.status) && !OF_ONE.includes(error.code ?? "");
}

/** True for an answer that comes where nothing serves the path. */
function isOfNoPart(error: unknown): boolean {
  return (
    error instanceof ResponseError || (error instanceof APIError && [404, 405, 501].includes(error.status))
  );
}
