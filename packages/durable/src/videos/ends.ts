import type { JobEvent, ProxyPlugin } from "@sluice/worker-proxy";
import { type EndState, getEndState, type TaskEnd, type WatchedTask } from "./task.js";

/** The end of a task that was watched from its creation. */
export type EndedTask = {
  /** Id of the end, the same in each attempt: 32 hex digits. */
  readonly id: string;
  /** The task id that the client received. */
  readonly taskId: string;
  /** The gateway's task id. */
  readonly gatewayId: string;
  /** The id that `authenticate` returned. */
  readonly userId: string;
  readonly model?: string | undefined;
  /**
   * `expired`: the gateway no longer knows the task. `unknown`: the task did not end within 24 hours. If the user
   * queries the task later, the proxy polls the gateway again. A later end is a separate `EndedTask`.
   */
  readonly state: EndState;
  /** The gateway's latest response, with the client's task id. Null if no response showed the task. */
  readonly task: unknown;
  /** Unix milliseconds. */
  readonly endedAt: number;
  /** True after the user has removed the task. */
  readonly isRemoved: boolean;
  /** The `x-request-id` of the create request. */
  readonly requestId?: string | undefined;
};

/** Context of one attempt of an {@link EndHandler}. */
export interface EndContext<Env = unknown> {
  readonly env: Env;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborts after ten minutes, and when the host closes. */
  readonly signal: AbortSignal;
}

/** HTTP status of the receiver's response. */
interface Received {
  readonly upstreamStatus: number;
}

/**
 * Handles the end of a task: `webhook(…)`, or a function of the app. A handler runs as a job. If it throws, the proxy
 * logs the cause and runs it again after 5 s, 1 min, 5 min, 30 min, 2, 5, 10 and 14 hours. After the last attempt, the
 * end becomes a dead letter of this handler. A handler can run again after a success if the process ends before the
 * success is stored. Use `ended.id` to ignore the repeat.
 *
 * The rows store the function's name. Do not rename the function while deliveries are pending, and let a minifier keep
 * names.
 *
 * @example
 * ```ts
 * const sendMail: EndHandler<Env> = async ({ userId, state, id }, { signal }) => {
 *   const body = JSON.stringify({ userId, state, id });
 *   await fetch("https://mail.example.com/send", { method: "POST", body, signal });
 * };
 * videoWatch<Env>({ onEnd: [sendMail] });
 * ```
 */
export interface EndHandler<Env = unknown> extends Pick<ProxyPlugin<Env>, "checks"> {
  (ended: EndedTask, context: EndContext<Env>): Promise<void> | Promise<Received>;
  /** Kind of the events for the attempts. @default none: failures are only logged */
  readonly job?: JobEvent["job"];
}

/** A failed delivery by a handler of this package. The message contains no URL and no secret. */
export class DeliveryError extends Error {
  override readonly name = "DeliveryError";
  /** HTTP status of the receiver; undefined without a response. 410 ends the attempts. */
  readonly upstreamStatus: number | undefined;

  constructor(message: string, { upstreamStatus, cause }: { upstreamStatus?: number; cause?: unknown } = {}) {
    super(message, { cause });
    this.upstreamStatus = upstreamStatus;
  }
}

const STATES: readonly EndState[] = ["succeeded", "failed", "expired", "unknown"];

/**
 * Creates the end of a task that handlers receive.
 *
 * @param hash hex hash of the user and the task. The id of the end is its first 31 digits and a digit for the state
 */
export function createEndedTask(task: WatchedTask, end: TaskEnd, hash: string): EndedTask {
  const { id, userId, envelope, created, isRemoved = false } = task;
  const { signedId = id, model, requestId } = created ?? {};
  const state = getEndState(task, end);
  return {
    id: `${hash.slice(0, 31)}${STATES.indexOf(state)}`,
    taskId: signedId,
    gatewayId: id,
    userId,
    model,
    state,
    task: envelope === undefined ? null : JSON.parse(renameTask(envelope, id, signedId)),
    endedAt: end.at,
    isRemoved,
    requestId,
  };
}

/** Replaces the gateway's task id in an envelope with the client's task id. */
export function renameTask(envelope: string, id: string, signedId: string): string {
  return JSON.stringify(JSON.parse(envelope), (_, value) => (value === id ? signedId : value));
}
