import { after } from "../base/clock.js";
import type { UncheckedRequest } from "../base/validate.js";
import type { Client } from "../client.js";
import { isGatewayError, TimeoutError } from "../errors.js";
import { requestIdOf } from "../transport/failure.js";
import { openExchange, type RequestOptions } from "../transport/send.js";
import { type Attempt, openAttempt, requestAnswer } from "./attempt.js";
import { createKeptAnswer, type KeptAnswer } from "./kept-answer.js";
import type { StreamEnd } from "./protocol/chunk-parser.js";
import type { ChatDelta } from "./protocol/delta.js";
import { createDeltaReader, type DeltaReader } from "./protocol/delta-reader.js";
import { CHAT_PATH } from "./protocol/request.js";
import type { ChatRequest } from "./protocol/request-body.js";
import { createSettlement, type Settlement } from "./settlement.js";
import { cutError, errorOfEnd } from "./stream-error.js";

/** A delta, or the end of the deltas. */
export type Step = IteratorResult<ChatDelta, undefined>;
export const over: Step = { done: true, value: undefined };

/** One answer, over as many attempts as it takes where the proxy keeps it; over one anywhere else. */
export interface ResumableExchange {
  /** The answer as far as it was read. */
  readonly answer: DeltaReader;
  /** The same as the proxy keeps it. */
  readonly kept: KeptAnswer;
  /** Its end. */
  readonly settlement: Settlement;
  /** Settles when the gateway has answered, or has not. */
  readonly opening: Promise<void>;
  /** Gives the next delta, at once if it is there. Rejects with the error that ended the answer. */
  next(): Promise<Step> | Step;
  abort(reason: unknown): void;
  /** Ends the answer with an error, unless it has ended. */
  fail(cause: unknown): void;
}

/** The wait for `[DONE]` or usage after a `finish_reason`; without them the answer is complete all the same. */
const FINISH_GRACE_MS = 2000;

/** Sends a request, or asks for the answer that the proxy keeps under `streamId`; `newer` is as in `assertAccepted`. */
export function openResumableExchange(
  client: Client,
  options: RequestOptions,
  request: ChatRequest | UncheckedRequest | undefined,
  streamId: string | undefined,
  newer: string,
): ResumableExchange {
  const exchange = openExchange(client, { kind: "chat", path: CHAT_PATH, subject: request }, options);
  const { clock } = client;
  const settlement = createSettlement(client, exchange);
  const several = ((request as { n?: number } | undefined)?.n ?? 1) > 1;
  const answer = createDeltaReader(
    { onDelta, onContent, warn: (issue) => client.warn(issue, exchange.callId) },
    several,
  );
  const kept = createKeptAnswer(client, exchange, options, streamId);
  let requestId: string | undefined;
  /** True once the gateway has answered. */
  let hasOpened = false;
  let hasContent = false;
  /** True where content came since the last read. */
  let isAlive = false;
  let isInGrace = false;

  limitFirstChunk();
  let attempt = attemptWith(firstResponse());
  attempt.opening.catch(fail);
  exchange.signal.addEventListener("abort", () => {
    // before the headers, the request itself tells how it ended: a refusal may be known by then
    if (hasOpened || kept.isKept) fail(exchange.signal.reason);
  });

  return {
    answer,
    kept,
    settlement,
    get opening() {
      return attempt.opening;
    },
    next,
    abort: exchange.abort,
    fail,
  };

  function attemptWith(response: Promise<Response>): Attempt<Step> {
    isAlive = hasContent;
    return openAttempt(client, { ...exchange, abort: late }, response, { use, lose, resetsSilence });
  }

  async function firstResponse(): Promise<Response> {
    const response = await (request ? requestAnswer(client, exchange, request, options, newer) : kept.all());
    if (response.body === undefined)
      client.warn({ path: "", message: NO_BODY, rule: "chat.stream.no-body" }, exchange.callId);
    kept.learn(response);
    requestId = requestIdOf(response);
    hasOpened = true;
    return response;
  }

  function next(): Promise<Step> | Step {
    if (settlement.failure) return Promise.reject(settlement.failure.error);
    try {
      const value = answer.take();
      if (value) return { done: false, value };
    } catch (cause) {
      // a text beyond what the platform can hold: `partial` has what came before
      return rejected(error({ type: "malformed", problem: "the answer is too long to be read", cause }));
    }
    if (answer.end) return finish(answer.end);
    if (answer.isFinished && attempt.state === "reading" && !isInGrace) {
      isInGrace = true;
      after(clock, FINISH_GRACE_MS, settlement.signal, () => attempt.drop());
    }
    return attempt.read();
  }

  function use(bytes: Uint8Array | undefined): Promise<Step> | Step {
    answer.push(bytes);
    return next();
  }

  function resetsSilence(): boolean {
    const wasAlive = isAlive;
    isAlive = false;
    return wasAlive;
  }

  function onContent(): void {
    isAlive = hasContent = true;
    kept.advance();
  }

  function onDelta({ type }: ChatDelta): void {
    if (type !== "usage" && type !== "finish") settlement.begin();
  }

  /** Counts from sending, whether the stream is read or not: one that nobody reads does not stay open. */
  function limitFirstChunk(): void {
    const { firstChunkMs } = exchange;
    const text = `nothing of the answer came in ${firstChunkMs} ms (timeouts.firstChunkMs)`;
    after(clock, firstChunkMs, settlement.signal, () => {
      if (!hasContent) late(new TimeoutError(text, "first-chunk"));
    });
  }

  /** The gateway is silent, or the connection broke unnoticed: where the answer is kept, another attempt can tell. */
  function late(reason: unknown): void {
    if (attempt.state === "opening" || !(kept.isKept || answer.isFinished)) exchange.abort(reason);
    else attempt.drop(reason);
  }

  /** The connection failed, the caller aborted, or the stream said so: nothing that came is lost. */
  function lose(cause: unknown): Promise<Step> | Step {
    if (!exchange.signal.aborted && !isGatewayError(cause) && answer.isFinished) {
      answer.cut();
      return next();
    }
    return kept.isKept && settlement.state === "open" ? resume(cause) : rejected(cause);
  }

  function resume(cause: unknown): Promise<Step> | Step {
    const { dropped } = attempt;
    // the connection may be open still
    attempt.drop();
    answer.restart();
    const rest = kept.rest(answer.eventId, isGatewayError(cause) ? cause : undefined).catch(() => {
      throw dropped ?? cause;
    });
    attempt = attemptWith(rest);
    if (dropped && !hasContent) limitFirstChunk();
    return next();
  }

  function finish(end: StreamEnd): Promise<Step> | Step {
    if (settlement.state === "settled") return over;
    if (!answer.isWhole) return lose(error(end));
    settlement.succeed(answer.turn(settlement.timing()));
    if (end.type === "done") attempt.release();
    return over;
  }

  function rejected(cause: unknown): Promise<Step> {
    fail(cause);
    return Promise.reject(settlement.failure ? settlement.failure.error : cause);
  }

  function fail(cause: unknown): void {
    if (settlement.state === "settled") return;
    try {
      while (answer.take());
    } catch {
      // too long: `partial` has the text so far
    }
    settlement.fail(errorOf(cause));
    attempt.drop();
    // an answer that is kept goes on until it is stopped there
    if (exchange.signal.aborted) kept.stop();
  }

  function errorOf(cause: unknown): unknown {
    // what fails before the first byte was not cut: it is told as it is
    if (!exchange.signal.aborted && !isGatewayError(cause))
      return hasOpened ? cutError({ partial: answer.message, requestId }, cause) : cause;
    if (!isGatewayError(cause) || cause.name !== "TimeoutError" || !(hasOpened || kept.isKept)) return cause;
    return new TimeoutError(cause.message, cause.phase, { partial: answer.message, requestId });
  }

  function error(end: StreamEnd): Error {
    return errorOfEnd(client, end, { partial: answer.message, requestId });
  }
}

const NO_BODY =
  "this fetch gives no stream, so that nothing shows before the end; give createClient one that does: expo/fetch";
