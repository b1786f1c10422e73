import type { SucceededVideoTask, VideoTask, VideoTaskHandle } from "@sluice/core";
import type { TaskState } from "../tasks/task-state.js";

/** State of one video task, in the terms of TanStack Query. */
export interface VideoTaskState extends TaskState<SucceededVideoTask, VideoTaskHandle> {
  /** Newest snapshot; undefined before the first poll. */
  readonly task: VideoTask | undefined;
}

/** A video task of the list. Plain JSON but for `error`. */
export interface VideoTaskEntry {
  /** Key of the entry in this app. It exists before the gateway gives the task an id. */
  readonly key: string;
  /** Model of the request. */
  readonly model: string;
  /** Time of the request; Unix milliseconds. */
  readonly submittedAt: number;
  /** Name that the app gave to the task. */
  readonly label?: string;
  /**
   * `submitting`: the request is in flight. `created`: the gateway returned a handle. `unconfirmed`: the gateway may
   * have the task, and bill it; `error` says what to do.
   */
  readonly state: "submitting" | "created" | "unconfirmed";
  /** Handle of the task, once the gateway gave it an id. */
  readonly handle?: VideoTaskHandle;
  /** Newest snapshot of the task; absent before the first poll. */
  readonly task?: VideoTask;
  /** Error of the request; it says what to do. */
  readonly error?: Error;
  /**
   * Fingerprint of a request whose end is not known. The same request again continues this entry: it has the same
   * `idempotency-key`, so that a proxy with `idempotency()` gives the first task. Absent without a proxy.
   */
  readonly fingerprint?: string;
}
