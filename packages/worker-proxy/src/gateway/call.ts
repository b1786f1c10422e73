import type { CallOutcome } from "../api/plugin.js";
import { Refusal } from "../refusals/refusal.js";

/** Reason for which a call ended before the last byte of its response. */
export type Failure =
  | `client_${"left" | "stalled"}`
  | `upstream_${"unreachable" | "cut" | "idle" | "timeout"}`;

/** The refusal that reports a failure. */
export function createFailure(failure: Failure, outcome?: CallOutcome, cause?: unknown): Refusal {
  const usual = failure === "upstream_unreachable" ? "not_reached" : "unknown";
  return new Refusal(failure, { outcome: outcome ?? usual, cause });
}

/** A time in milliseconds, and the reason for which the call is stopped after it. */
interface Limit {
  readonly ms: number;
  readonly late: Failure;
}

/** One call to the gateway, from sending to its last byte: what may end it, and why it ended. */
export type Call = ReturnType<typeof openCall>;

/** The reason of each abort: a new error for each call takes longer than the rest of closing it. */
const CLOSED = new Error("closed");

/** Longest delay of a timer, in milliseconds. The timer is set again for a later limit. */
const CHECK_MS = 30_000;

/**
 * Lateness of a timer that shows that this isolate was busy, in milliseconds. It then has the same time again to read
 * what has come.
 */
const BUSY_MS = 250;

/**
 * Opens a call to the gateway. The call ends when the signal aborts, or `totalMs` milliseconds after its first step. Close
 * each call.
 */
export function openCall(client: AbortSignal, totalMs = Infinity) {
  const controller = new AbortController();
  const endsAt = Date.now() + totalMs;
  let stepEndsAt = Infinity;
  let late: Failure = "upstream_timeout";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let timerAt = Infinity;
  /** True where a limit was put off once. */
  let isPutOff = false;
  let isOpen = true;
  let interrupt: (() => void) | undefined;
  const leave = () => call.stop("client_left");
  client.addEventListener("abort", leave);
  const call = {
    /** Signal of the `fetch` to the gateway. */
    signal: controller.signal,
    /** The reason of the stop; undefined for a call that was not stopped. */
    stopped: undefined as Failure | undefined,
    /** Called when `signal` aborts: a listener of the platform would cost more. */
    onAbort: () => {},

    /** Ends the call and closes the gateway's connection. The first reason stays. */
    stop(reason: Failure): void {
      if (!isOpen) return;
      call.stopped = reason;
      call.close();
      interrupt?.();
    },

    /**
     * Ends a call: releases the timer and the client, and closes the connection.
     *
     * @param isRead true where the response was read to its end: an abort would only cost time
     */
    close(isRead = false): void {
      isOpen = false;
      clearTimeout(timer);
      client.removeEventListener("abort", leave);
      if (isRead) return;
      controller.abort(CLOSED);
      call.onAbort();
    },

    /** Limits the present step from now on, in place of the last limit. @default no limit */
    limit(step?: Limit): void {
      stepEndsAt = step ? Date.now() + step.ms : Infinity;
      late = step?.late ?? late;
      isPutOff = false;
      watch();
    },

    /**
     * Waits for one step until the call is stopped: not every body fails when its request does.
     *
     * @param broken the failure to report when the step itself fails
     * @throws {Refusal} the reason of the stop, or `broken`
     */
    async wait<T>(step: () => Promise<T>, broken: Failure, within?: Limit): Promise<T> {
      if (within) call.limit(within);
      else watch();
      try {
        // one slot, not a race against one long promise, which would keep a reaction for each chunk of a stream
        return await new Promise<T>((resolve, reject) => {
          interrupt = () => reject(call.stopped);
          step().then(resolve, reject);
          if (call.stopped) interrupt();
        });
      } catch (error) {
        if (call.stopped) throw createFailure(call.stopped);
        // an error of the platform may name an address or a header: only the log has it
        throw error instanceof Refusal ? error : createFailure(broken, undefined, error);
      } finally {
        if (within) call.limit();
      }
    },
  };
  if (client.aborted) leave();
  return call;

  /** Keeps one timer for all limits, since a timer costs more than a read: only an earlier end sets a new one. */
  function watch(end = Math.min(stepEndsAt, endsAt)): void {
    if (!isOpen || end >= timerAt) return;
    const now = Date.now();
    timerAt = Math.min(end, now + CHECK_MS);
    clearTimeout(timer);
    timer = setTimeout(check, Math.max(0, timerAt - now));
  }

  function check(): void {
    const now = timerAt;
    timerAt = Infinity;
    // the gateway may have sent data meanwhile that is still unread
    if (!isPutOff && Date.now() - now > BUSY_MS) {
      isPutOff = true;
      watch(Date.now() + BUSY_MS);
    } else if (stepEndsAt <= now) call.stop(late);
    else if (endsAt <= now) call.stop("upstream_timeout");
    else watch();
  }
}
