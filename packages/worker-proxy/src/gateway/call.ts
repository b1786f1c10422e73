import type { CallOutcome } from "../admitted.js";
import { Refusal } from "../refusal.js";
import { openKeyWatch } from "./keys.js";

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

/** The time for one step, in milliseconds, and the reason for which the call is stopped after it. */
interface Wait {
  readonly ms: number;
  readonly late: Failure;
}

/** One call to the gateway, from sending to its last byte: who may end it, and what it was ended for. */
export interface Call {
  /** For the upstream `fetch`. */
  readonly signal: AbortSignal;
  readonly stopped: Failure | undefined;
  /** Ends the call and hangs up on the gateway. The first reason stays. */
  stop(reason: Failure): void;
  /**
   * Waits for one step, until it is late, or until the call is stopped: not every body fails when its request does.
   *
   * @throws {Refusal} why it was stopped; `broken` when the step itself failed
   */
  wait<T>(step: () => Promise<T>, broken: Failure, limit?: Wait): Promise<T>;
  /** Nothing more will come: lets go of the timer, the client and the connection. */
  close(): void;
}

/** The reason of each abort: making an error anew for each call takes longer than all else that closes it. */
const CLOSED = new Error("closed");

/** A call that ends when the client leaves, or after `totalMs`. */
export function openCall(client: AbortSignal, totalMs: number | undefined): Call {
  const controller = new AbortController();
  let stopped: Failure | undefined;
  let isOpen = true;
  let interrupt: (() => void) | undefined;
  const leave = () => stop("client_left");
  const total = totalMs === undefined ? undefined : setTimeout(() => stop("upstream_timeout"), totalMs);
  client.addEventListener("abort", leave);
  if (client.aborted) leave();

  return {
    signal: controller.signal,
    get stopped() {
      return stopped;
    },
    stop,
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
    clearTimeout(total);
    client.removeEventListener("abort", leave);
    controller.abort(CLOSED);
  }

  async function wait<T>(step: () => Promise<T>, broken: Failure, limit?: Wait): Promise<T> {
    const timer = limit && setTimeout(() => stop(limit.late), limit.ms);
    try {
      // one slot, not a race against one long promise: that would keep a reaction for each chunk of a stream
      return await new Promise<T>((resolve, reject) => {
        interrupt = () => reject(stopped);
        step().then(resolve, reject);
        if (stopped) interrupt();
      });
    } catch (error) {
      if (stopped) throw failed(stopped);
      // what the platform threw may name an address or a header: only the log has it
      throw error instanceof Refusal ? error : failed(broken, undefined, error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Time for which the gateway may send nothing, in milliseconds, where it is read and `limits.stallMs` is not set. */
export const STALL_MS = 60_000;

const PASSED = {
  "x-request-id": /^[\w.:-]{1,128}$/,
  "retry-after": /^(?:\d{1,6}|[A-Z][a-z]{2}, [\w :]{10,30})$/,
};

/** The headers of an answer that may go on to the client, where they look as they should. */
export function passedHeadersOf({ headers }: Response, apiKeys: readonly string[]): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, shape] of Object.entries(PASSED)) {
    const value = headers.get(name) ?? "";
    if (shape.test(value) && !openKeyWatch(apiKeys)(value)) passed[name] = value;
  }
  return passed;
}

/** @throws {Refusal} 502 for an answer that is no JSON, and no event stream where there can be one */
export function checkedType({ body, headers }: Response, canStream: boolean) {
  const [type = ""] = (headers.get("content-type") ?? "").toLowerCase().split(/\s*;/, 1);
  const isFit = type === "application/json" || (canStream && type === "text/event-stream");
  if (body && isFit) return { body, type };
  body?.cancel().catch(() => {});
  throw new Refusal("upstream_no_json", { outcome: "refused" });
}
