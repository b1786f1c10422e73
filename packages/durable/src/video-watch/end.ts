import type { JobEvent, JobOutcome } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import type { DeadLetter } from "../notices/dead-letter-rows.js";
import { named } from "./answers.js";
import { type CreatedTask, type EndState, endStateOf, type TaskEnd, type WatchedTask } from "./task.js";

/** The end of a task that was watched from its create. */
export interface EndedTask {
  /** Id of this end, the same in each attempt to tell of it: 32 hex digits. */
  readonly id: string;
  /** The task's id as its user knows it. */
  readonly taskId: string;
  /** The gateway's own id. */
  readonly gatewayId: string;
  /** The id that `authenticate` returned. */
  readonly userId: string;
  readonly model?: string | undefined;
  /**
   * `expired`: the gateway does not know the task any more. `unknown`: no end was seen in 24 hours. It may still come:
   * when the user asks again, the gateway is polled, and that end is another `EndedTask`.
   */
  readonly state: EndState;
  /** The gateway's newest answer, with the task's id as its user knows it. */
  readonly task: unknown;
  /** Unix milliseconds. */
  readonly endedAt: number;
  /** True after the user has removed the task. */
  readonly isRemoved: boolean;
  /** The `x-request-id` of the create. */
  readonly requestId?: string | undefined;
}

/** A part of the work after an end that is given up. */
export type GivenUp = Pick<DeadLetter, "name" | "attempts" | "upstreamStatus">;

/** Progress of an {@link EndHandler}, kept in the object's storage. */
export interface EndProgress<Env> {
  readonly env: Env;
  /** Names of dead letters that an operator sends again. Empty after the next `save`. */
  readonly again: readonly string[];
  /** Reports an event to `onEvent` of the watch. */
  report(event: JobEvent): void;
  /** Keeps a dead letter, where the watch has its `namespace`. Rejects where it could not be kept. */
  giveUp(part: GivenUp): Promise<void>;
  /** The value that was saved last, as JSON; undefined at first. */
  readonly progress: unknown;
  /** Saves a value that outlasts an eviction. Gives false after the user was erased: the handler is not called again. */
  save(progress: unknown): Promise<boolean>;
}

/**
 * Does what is due after the end of a task, or of another job. The object's alarm calls it right after the end, and again
 * at each time that it returns in Unix milliseconds; undefined says that all is done.
 */
export type EndHandler<Env, Ended = EndedTask> = (
  ended: Ended,
  state: EndProgress<Env>,
) => Promise<number | undefined>;

/** Returns the outcome of a watch, and the code that says why. */
export function outcomeOf(task: WatchedTask, end: TaskEnd): [outcome: JobOutcome, code: string | undefined] {
  const state = endStateOf(task, end);
  const code = end.error === undefined ? `task_${state}` : codeIn(end.error);
  if (task.isRemoved) return ["stopped", code];
  if (state === "succeeded") return ["complete", undefined];
  const isLost = code === "task_not_found" || code === "watch_timeout";
  return [isLost ? "lost" : "failed", code];
}

function codeIn(error: string): string | undefined {
  return (JSON.parse(error) as { error: { code?: string } }).error.code;
}

/** Returns an end as handlers get it. */
export async function endedTask(known: WatchedTask, created: CreatedTask, end: TaskEnd): Promise<EndedTask> {
  const { id, envelope, isRemoved = false } = known;
  const { userId, sentId, model, requestId } = created;
  const task: unknown = envelope === undefined ? null : JSON.parse(named(known, envelope, sentId));
  const state = endStateOf(known, end);
  return {
    id: (await hashOf(`end\n${userId}\n${id}\n${state}`)).slice(0, 32),
    taskId: sentId,
    gatewayId: id,
    userId,
    model,
    state,
    task,
    endedAt: end.at,
    isRemoved,
    requestId,
  };
}
