import type { Client } from "../client.js";
import type { Exchange } from "../transport/send.js";
import { closeExchange, emitStep } from "../transport/send.js";
import type { ChatTiming, ChatTurn } from "./protocol/answer-reader.js";

/** The end of an answer, which comes once, and its times. */
export interface Settlement {
  /** `open` until the whole answer or an error has ended the exchange, then `settled`. */
  readonly state: "open" | "settled";
  /** Aborts when the answer is settled, which stops its timers. */
  readonly signal: AbortSignal;
  /** The whole answer; rejects with the error that ended it. */
  readonly turn: Promise<ChatTurn>;
  /** The error that ended the answer. */
  readonly failure: { readonly error: unknown } | undefined;
  /** Records the time of the first token. */
  begin(): void;
  timing(): ChatTiming;
  succeed(turn: ChatTurn): void;
  /** @param begun the part of the answer that came, for the events */
  fail(error: unknown, begun: ChatTurn): void;
}

/** Creates an open settlement. Its end closes the exchange. */
export function createSettlement(client: Client, exchange: Exchange): Settlement {
  const ended = new AbortController();
  let firstTokenMs: number | undefined;
  let totalMs: number | undefined;
  let resolve!: (turn: ChatTurn) => void;
  let reject!: (error: unknown) => void;
  const turn = new Promise<ChatTurn>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // a loop throws the error, too: the result may stay unused
  turn.catch(() => {});
  const settlement = {
    state: "open" as Settlement["state"],
    signal: ended.signal,
    turn,
    failure: undefined as Settlement["failure"],
    begin() {
      if (firstTokenMs !== undefined) return;
      firstTokenMs = elapsedMs();
      emitStep(client, exchange, { type: "first-chunk", ms: firstTokenMs });
    },
    timing: () => ({
      ...(firstTokenMs !== undefined && { firstTokenMs }),
      totalMs: totalMs ?? elapsedMs(),
    }),
    succeed(whole: ChatTurn) {
      settle();
      closeExchange(client, exchange, whole);
      resolve(whole);
    },
    fail(error: unknown, begun: ChatTurn) {
      settlement.failure = { error };
      settle();
      closeExchange(client, exchange, begun, settlement.failure);
      reject(error);
    },
  };
  return settlement;

  function settle(): void {
    settlement.state = "settled";
    totalMs = elapsedMs();
    ended.abort(null);
  }

  function elapsedMs(): number {
    return client.clock.now() - exchange.startedAt;
  }
}
