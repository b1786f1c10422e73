import { atLimit } from "../base/clock.js";
import type { Client } from "../client.js";
import { requestIdOf } from "../transport/failure.js";
import type { ByteHandlers } from "../transport/read-body.js";
import type { Exchange } from "../transport/send.js";
import { isGatewayError, TimeoutError } from "../vocabulary/errors.js";
import { type Attempt, openAttempt } from "./attempt.js";
import type { KeptAnswer } from "./kept-answer.js";
import type { DeltaReader } from "./protocol/delta-reader.js";
import type { Settlement } from "./settlement.js";
import { cutError } from "./stream-error.js";

/** The parts of one answer. */
export interface AnswerParts {
  readonly client: Client;
  readonly exchange: Exchange;
  /** The part of the answer that was read. */
  readonly answer: DeltaReader;
  /** The copy that the proxy keeps, if it keeps one. */
  readonly kept: KeptAnswer;
  /** The end of the answer. */
  readonly settlement: Settlement;
}

/** The attempts at one answer, in a row: one, or several where the proxy keeps the answer. */
export interface Attempts<Out> {
  /** The last attempt. */
  readonly current: Attempt<Out>;
  /** The first response; undefined before the gateway has answered. */
  readonly opened: Response | undefined;
  /** Notes that content came: text, thinking or a tool call. */
  advance(): void;
  /** Drops the connection and asks the proxy for the rest of the answer. `cause` ended the last attempt. */
  resume(cause: unknown): void;
}

/**
 * Opens the first attempt.
 *
 * @param request sends the request
 * @param handlers get the bytes of each attempt, and the reason why there are no more
 */
export function openAttempts<Out>(
  { client, exchange, answer, kept, settlement }: AnswerParts,
  request: () => Promise<Response>,
  handlers: ByteHandlers<Out>,
): Attempts<Out> {
  let hasContent = false;
  /** True where content came since the last read. */
  let isAlive = false;

  limitFirstChunk();
  const attempts = {
    opened: undefined as Response | undefined,
    current: open(firstResponse()),
    advance() {
      isAlive = hasContent = true;
      kept.advance();
    },
    resume(cause: unknown) {
      const { dropped } = attempts.current;
      // the connection may be open still
      attempts.current.drop();
      answer.restart();
      const rest = kept.rest(answer.eventId, isGatewayError(cause) ? cause : undefined).catch((refusal) => {
        throw unread(refusal, dropped ?? cause);
      });
      attempts.current = open(rest);
      if (dropped && !hasContent) limitFirstChunk();
    },
  };
  return attempts;

  async function firstResponse(): Promise<Response> {
    const response = await request().catch((refusal) => {
      throw unread(refusal, refusal);
    });
    if (response.body === undefined)
      import("../transport/odd-body.js")
        .then(({ NO_STREAM }) => client.warn(NO_STREAM, exchange.callId))
        .catch(() => {});
    kept.takeId(response);
    attempts.opened = response;
    return response;
  }

  /** Makes the error of an answer that is kept, but can't be read now; returns `lost` where none is kept. */
  function unread(refusal: unknown, lost: unknown): unknown {
    if (kept.id === undefined || exchange.signal.aborted) return lost;
    const requestId = attempts.opened && requestIdOf(attempts.opened);
    return cutError({ partial: answer.message, requestId }, refusal);
  }

  function open(response: Promise<Response>): Attempt<Out> {
    isAlive = hasContent;
    return openAttempt(client, { ...exchange, abort: late }, response, { ...handlers, resetsSilence });
  }

  function resetsSilence(): boolean {
    const wasAlive = isAlive;
    isAlive = false;
    return wasAlive;
  }

  /** Limits the time from sending to the first content. It also counts while the stream is not read. */
  function limitFirstChunk(): void {
    const { firstChunkMs } = exchange;
    const text = `nothing came for ${firstChunkMs} ms (timeouts.firstChunkMs)`;
    atLimit(client.clock, firstChunkMs, settlement.signal, () => {
      if (!hasContent) late(new TimeoutError(text, "first-chunk"));
    });
  }

  /** Reacts to a limit. The connection may have broken unnoticed: a kept answer gets another attempt. */
  function late(reason: unknown): void {
    const { current } = attempts;
    if (current.state === "opening" || !(kept.isKept || answer.isFinished)) exchange.abort(reason);
    else current.drop(reason);
  }
}
