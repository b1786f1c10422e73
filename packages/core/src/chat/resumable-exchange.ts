import { after } from "../base/clock.js";
import type { UncheckedRequest } from "../base/validate.js";
import type { Client } from "../client.js";
import { requestIdOf } from "../transport/failure.js";
import { openExchange, type RequestOptions } from "../transport/send.js";
import { isGatewayError } from "../vocabulary/errors.js";
import { requestAnswer } from "./attempt.js";
import { type AnswerParts, type Attempts, openAttempts } from "./attempts.js";
import { createKeptAnswer } from "./kept-answer.js";
import type { ChatDelta } from "./protocol/delta.js";
import { createDeltaReader } from "./protocol/delta-reader.js";
import { CHAT_PATH, streamPath } from "./protocol/request.js";
import type { ChatRequest } from "./protocol/schema.js";
import type { StreamEnd } from "./protocol/stream-end.js";
import { createSettlement } from "./settlement.js";
import { cutError, errorOfEnd, type StreamFacts, timeoutWith } from "./stream-error.js";

/** A delta, or the end of the deltas. */
export type Step = IteratorResult<ChatDelta, undefined>;
export const over: Step = { done: true, value: undefined };

/** One answer: read in as many attempts as it takes where the proxy keeps it, in one attempt elsewhere. */
export interface ResumableExchange extends AnswerParts, Steps {
  /** The attempts in a row. */
  readonly attempts: Attempts<Step>;
}

/** Origin of an answer: a request, or the proxy that keeps it. */
export interface AnswerSource {
  readonly request?: ChatRequest | UncheckedRequest | undefined;
  /** Id of a kept answer, which is read from its start where there is no `request`. */
  readonly streamId?: string | undefined;
  /** True if the answer continues at the proxy when this reader stops. */
  readonly isFollowed?: boolean;
  /** As in `assertAccepted`. */
  readonly newer?: string;
}

/** The reading of an answer, until it is settled. */
interface Steps {
  /**
   * Returns the next delta, at once if it was read already. Rejects with the error that ended the answer: a stop ends it
   * at once, any other error after the deltas that were read.
   */
  next(): Promise<Step> | Step;
  /** Ends the answer with an error, unless it has ended. */
  fail(cause: unknown): void;
  /** Continues after the connection has failed, the caller has aborted, or the stream has reported an error. */
  lose(cause: unknown): Promise<Step> | Step;
}

/** Wait for `[DONE]` or usage after a `finish_reason`. Without them the answer is complete, too. */
const FINISH_GRACE_MS = 2000;
const TOO_LONG = "the answer is too long to be read";

/** Opens an answer: sends its request, or asks for the kept one. */
export function openResumableExchange(
  client: Client,
  options: RequestOptions,
  { request, streamId, isFollowed, newer = "streamChat(client, unchecked({ … }))" }: AnswerSource,
): ResumableExchange {
  const path = (!request && streamPath(streamId)) || CHAT_PATH;
  const exchange = openExchange(client, { kind: "chat", path, subject: request, isStream: true }, options);
  const settlement = createSettlement(client, exchange);
  const answer = createDeltaReader(
    {
      onDelta({ type }) {
        if (type !== "usage" && type !== "finish") settlement.begin();
      },
      onContent: () => attempts.advance(),
      isKept: () => kept.isKept,
      warn: (issue) => client.warn(issue, exchange.callId),
    },
    ((request as { n?: number } | undefined)?.n ?? 1) > 1,
  );
  const kept = createKeptAnswer(client, exchange, options, streamId);
  const parts = { client, exchange, answer, kept, settlement };
  const attempts: Attempts<Step> = openAttempts(
    parts,
    () => (request ? requestAnswer(client, exchange, request, options, newer) : kept.all()),
    {
      use(bytes) {
        answer.push(bytes);
        return steps.next();
      },
      lose: (cause) => steps.lose(cause),
    },
  );
  const steps = createSteps(parts, attempts, isFollowed);
  attempts.current.opening.catch(steps.fail);
  exchange.signal.addEventListener("abort", () => {
    // before the headers, the request itself reports its end: it may have been refused by then
    if (attempts.opened || kept.isKept) steps.fail(exchange.signal.reason);
  });

  return { ...parts, ...steps, attempts };
}

/** Reads the deltas of an answer, over as many attempts as it takes, and settles it. */
function createSteps(
  { client, exchange, answer, kept, settlement }: AnswerParts,
  attempts: Attempts<Step>,
  isFollowed = false,
): Steps {
  let isInGrace = false;
  return { next, lose, fail };

  function next(): Promise<Step> | Step {
    const { failure } = settlement;
    if (failure && isStop(failure.error)) return Promise.reject(failure.error);
    try {
      const value = answer.take();
      if (value?.type === "finish") succeed();
      if (value) {
        attempts.current.touch();
        return { done: false, value };
      }
    } catch (cause) {
      // the text is longer than the platform allows: `partial` has its beginning
      return rejected(errorOfEnd(client, { type: "malformed", problem: TOO_LONG, cause }, facts()));
    }
    if (failure) return Promise.reject(failure.error);
    if (answer.end) return finish(answer.end);
    if (answer.isFinished && attempts.current.state === "reading" && !isInGrace) {
      isInGrace = true;
      after(client.clock, FINISH_GRACE_MS, settlement.signal, () => attempts.current.drop());
    }
    return attempts.current.read();
  }

  function lose(cause: unknown): Promise<Step> | Step {
    if (!exchange.signal.aborted && !isGatewayError(cause) && answer.isFinished) answer.cut();
    else if (kept.isKept && settlement.state === "open") attempts.resume(cause);
    else return rejected(cause);
    return next();
  }

  function finish(end: StreamEnd): Promise<Step> | Step {
    return answer.isWhole ? over : lose(errorOfEnd(client, end, facts()));
  }

  /** Settles the answer with its `finish` delta: a reader that has it need not read again. */
  function succeed(): void {
    if (settlement.state === "settled") return;
    settlement.succeed(answer.turn(settlement.timing()));
    if (answer.end?.type === "done") attempts.current.release();
  }

  function rejected(cause: unknown): Promise<Step> {
    fail(cause);
    return Promise.reject(settlement.failure ? settlement.failure.error : cause);
  }

  function fail(cause: unknown): void {
    if (settlement.state === "settled") return;
    answer.foldRest();
    settlement.fail(errorOf(cause), answer.turn(settlement.timing()));
    attempts.current.drop();
    // a kept answer continues at the proxy until it is stopped there
    if (exchange.signal.aborted && !isFollowed) kept.stop();
  }

  function errorOf(cause: unknown): unknown {
    const { opened } = attempts;
    if (!exchange.signal.aborted && !isGatewayError(cause)) return opened ? cutError(facts(), cause) : cause;
    return opened || kept.isKept ? timeoutWith(cause, facts()) : cause;
  }

  function facts(): StreamFacts {
    return { partial: answer.message, requestId: attempts.opened && requestIdOf(attempts.opened) };
  }
}

/** Returns true for the reason of a caller that needs no further delta. A limit is an error of this library. */
export function isStop(error: unknown): boolean {
  return !isGatewayError(error);
}
