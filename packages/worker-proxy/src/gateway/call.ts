import type { CallOutcome } from "../admitted.js";
import { Refusal } from "../refusal.js";

/** The end of a call before the last byte of its answer. */
export type Failure =
  | "client_left"
  | "client_stalled"
  | "upstream_unreachable"
  | "upstream_cut"
  | "upstream_idle"
  | "upstream_timeout";

/** The refusal that reports a failure. */
export function failed(failure: Failure, outcome?: CallOutcome, cause?: unknown): Refusal {
  const usual = failure === "upstream_unreachable" ? "not_reached" : "unknown";
  return new Refusal(failure, { outcome: outcome ?? usual, cause });
}

/** A time in milliseconds, and the reason for which the call is stopped after it. */
interface Limit {
  readonly ms: number;
  readonly late: Failure;
}

/** One call to the gateway, from sending to its last byte: what may end it, and why it ended. */
export interface Call {
  /** For the upstream `fetch`. */
  readonly signal: AbortSignal;
  readonly stopped: Failure | undefined;
  /** Ends the call and closes the gateway's connection. The first reason stays. */
  stop(reason: Failure): void;
  /** Limits the present step from now on, in place of the last limit. @default no limit */
  limit(step?: Limit): void;
  /**
   * Waits for one step, within its limit, until the call is stopped: not every body fails when its request does.
   *
   * @param broken the failure to report when the step itself fails
   * @throws {Refusal} the reason of the stop, or `broken`
   */
  wait<T>(step: () => Promise<T>, broken: Failure, limit?: Limit): Promise<T>;
  /** Ends a call of which nothing more is expected: releases the timer, the client and the connection. */
  close(): void;
}

/** The reason of each abort: a new error for each call takes longer than the rest of closing it. */
const CLOSED = new Error("closed");

/** Longest delay of a timer, in milliseconds. */
const MOST_MS = 2 ** 31 - 1;

/** Opens a call that ends when the client leaves, or after `totalMs`. */
export function openCall(client: AbortSignal, totalMs = Infinity): Call {
  const controller = new AbortController();
  const endsAt = Date.now() + totalMs;
  let stepEndsAt = Infinity;
  let late: Failure = "upstream_timeout";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let timerAt = Infinity;
  let stopped: Failure | undefined;
  let isOpen = true;
  let interrupt: (() => void) | undefined;
  const leave = () => stop("client_left");
  client.addEventListener("abort", leave);
  if (client.aborted) leave();
  watch();

  return {
    signal: controller.signal,
    get stopped() {
      return stopped;
    },
    stop,
    limit,
    wait,
    close,
  };

  function stop(reason: Failure): void {
    if (!isOpen) return;
    stopped = reason;
    close();
    interrupt?.();
  }

  function close(): void {
    isOpen = false;
    clearTimeout(timer);
    client.removeEventListener("abort", leave);
    controller.abort(CLOSED);
  }

  function limit(step?: Limit): void {
    stepEndsAt = step ? Date.now() + step.ms : Infinity;
    late = step?.late ?? late;
    watch();
  }

  /** Keeps one timer for all limits, since a timer costs more than a read: only an earlier end sets a new one. */
  function watch(): void {
    const end = Math.min(stepEndsAt, endsAt);
    if (!isOpen || end >= timerAt) return;
    clearTimeout(timer);
    const now = Date.now();
    timerAt = Math.min(end, now + MOST_MS);
    timer = setTimeout(check, timerAt - now);
  }

  function check(): void {
    const now = timerAt;
    timerAt = Infinity;
    if (stepEndsAt <= now) stop(late);
    else if (endsAt <= now) stop("upstream_timeout");
    else watch();
  }

  async function wait<T>(step: () => Promise<T>, broken: Failure, within?: Limit): Promise<T> {
    if (within) limit(within);
    try {
      // one slot, not a race against one long promise, which would keep a reaction for each chunk of a stream
      return await new Promise<T>((resolve, reject) => {
        interrupt = () => reject(stopped);
        step().then(resolve, reject);
        if (stopped) interrupt();
      });
    } catch (error) {
      if (stopped) throw failed(stopped);
      // an error of the platform may name an address or a header: only the log has it
      throw error instanceof Refusal ? error : failed(broken, undefined, error);
    } finally {
      if (within) limit();
    }
  }
}
