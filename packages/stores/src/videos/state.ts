import type { RecordStorage, SucceededVideoTask, VideoModel, VideoTask, VideoTaskHandle } from "@sluice/core";
import type { ModelRequest } from "@sluice/core/schemas";
import type { TaskState, TaskStoreOptions } from "../tasks/task-state.js";
import type { Interval } from "../tasks/watch-plan.js";

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

/** The request of each video model. */
export type VideoRequests = { readonly [Model in VideoModel]: ModelRequest<Model> };

/** Options of a video task store; all but `storage` and `presence` are read at each use. */
export interface VideoTaskStoreOptions
  extends TaskStoreOptions<VideoTask, VideoTaskHandle, SucceededVideoTask, VideoTaskState> {
  /** Storage of tasks between page loads. Without it they last as long as the page. */
  readonly storage?: RecordStorage | undefined;
  /**
   * Milliseconds from a response to the next poll, or a function of the task. The interval grows if a page polls more than
   * 20 tasks, so that the page polls at most ten times per second.
   *
   * @default 15_000
   */
  readonly intervalMs?: Interval<VideoTask> | undefined;
}

/** Options of `create`. */
export interface VideoTaskCreateOptions<Checks extends boolean = boolean> {
  /** Name of the task in the app's list. */
  readonly label?: string | undefined;
  /** False sends the request as it is, with any model and fields. @default true */
  readonly checks?: Checks | undefined;
}

/** Options of a list of video tasks. */
export type VideoTaskListOptions = Pick<
  VideoTaskStoreOptions,
  "storage" | "presence" | "intervalMs" | "pollInBackground"
>;
