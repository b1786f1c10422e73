import type { Usage } from "./admitted.js";
import { createRepeats } from "./refusals/repeats.js";

/**
 * The end of a job, or of one attempt at it.
 *
 * - `complete`: it reached its end.
 * - `unconfirmed`: an answer ended without a `finish_reason`. It may lack its end, and was billed.
 * - `refused`: the other side refused it, or the proxy did before it was sent. It is not tried again.
 * - `failed`: it ended with an error, or after its last attempt.
 * - `cut`: the answer had begun, and broke off.
 * - `stopped`: its user stopped or removed it.
 * - `orphaned`: nobody had read the answer for a while, so that it was stopped.
 * - `lost`: the process that did it is gone. What was reserved for it is spent.
 * - `dropped`: it is given up without an attempt; `code` says why.
 * - `waiting`: an attempt failed, and another one follows at `nextAt`.
 */
export type JobOutcome =
  | "complete"
  | "unconfirmed"
  | "refused"
  | "failed"
  | "cut"
  | "stopped"
  | "orphaned"
  | "lost"
  | "dropped"
  | "waiting";

/**
 * One job that goes on without the request that began it, reported to `onEvent` of the part that does it. There is one
 * event for each end, and one for each attempt that another one follows. It has no body, address, header or key in it.
 */
export interface JobEvent {
  /**
   * - `answer`: a chat stream that `streamLog` keeps.
   * - `create`: an image, video, asset or epsilon request that `once` remembers.
   * - `watch`: a video task that `videoWatch` polls.
   * - `upload`, `copy`: a file of a user, and a file of the gateway's that the archive copies.
   * - `webhook`: a notice for the app.
   *
   * The kinds of other extensions have a prefix: `name:kind`.
   */
  readonly kind: "answer" | "create" | "watch" | "upload" | "copy" | "webhook" | `${string}:${string}`;
  /** The id of the stream, the request, the task, the file or the notice. */
  readonly id: string;
  readonly outcome: JobOutcome;
  /** The id that `authenticate` returned. */
  readonly user?: string | undefined;
  /** The `x-request-id` of the request that began the job. */
  readonly requestId?: string | undefined;
  /** The gateway's id of the video task. */
  readonly taskId?: string | undefined;
  readonly model?: string | undefined;
  /** The `error.code` that was sent, or that says why the job ended. */
  readonly code?: string | undefined;
  /** The HTTP status of the gateway or the app; absent where none answered. */
  readonly upstreamStatus?: number | undefined;
  /** The gateway's own count. */
  readonly usage?: Usage | undefined;
  /** The amount that the meter had set aside, and the one that was spent, in the meter's unit. */
  readonly reserved?: number | undefined;
  readonly spent?: number | undefined;
  /** Number of attempts so far, this one included. */
  readonly attempts?: number | undefined;
  /** Time of the next attempt, in milliseconds since 1970. */
  readonly nextAt?: number | undefined;
  /** Size of the answer or the file, in bytes. */
  readonly bytes?: number | undefined;
  /** Time from the begin of the job to its end, in milliseconds. */
  readonly durationMs?: number | undefined;
}

/** Receives the events of a part. An error that it throws is in the log, and breaks no job. */
export type OnJobEvent<Env> = (event: JobEvent, env: Env) => unknown;

const log = { repeats: createRepeats() };

/** Hands an event to its receiver, and logs what the receiver throws or rejects with. */
export function notifyOf<Env>(onEvent: OnJobEvent<Env> | undefined, event: JobEvent, env: Env): void {
  // it may be async: on some hosts an unhandled rejection ends the process
  new Promise((resolve) => resolve(onEvent?.(event, env)))
    .catch(async (error) => {
      const { logCause } = await import("./refusals/log.js");
      await logCause("onEvent failed", error, { env, log });
    })
    .catch(() => {});
}
