import type { SucceededVideoTask, VideoTask, VideoTaskHandle } from "@sluice/core";
import type { TaskState } from "../tasks/task-state.js";

/** State of one video task, in the terms of TanStack Query. */
export interface VideoTaskState extends TaskState<SucceededVideoTask, VideoTaskHandle> {
  /** Newest snapshot; undefined before the first poll. */
  readonly task: VideoTask | undefined;
}

/** A video task of the list. All fields but `error` are plain JSON. */
export interface VideoTaskEntry {
  /** Key of the entry in this app. It exists before the task has an id. */
  readonly key: string;
  /** Model of the request. */
  readonly model: string;
  /** Time of the request; Unix milliseconds. */
  readonly submittedAt: number;
  /** Name that the app gave to the task. */
  readonly label?: string;
  /**
   * `submitting`: the request is in flight. `created`: the gateway returned a handle. `unconfirmed`: the task may exist and
   * be billed; `error` says what to do.
   */
  readonly state: "submitting" | "created" | "unconfirmed";
  /** Handle of the task, once it has an id. */
  readonly handle?: VideoTaskHandle;
  /** Newest snapshot of the task; absent before the first poll. */
  readonly task?: VideoTask;
  /** Error of the request; it says what to do. */
  readonly error?: Error;
  /**
   * Fingerprint of a request with an unknown result. The same request continues this entry with the same
   * `idempotency-key`, so that a proxy with idempotency returns the first task. Absent without a proxy.
   */
  readonly fingerprint?: string;
}
