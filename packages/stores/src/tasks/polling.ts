import type { Presence, WatchOptions } from "@sluice/core";

/* Names for parts of the core's types. */

/** Reason why a page does not poll: it is hidden or offline. */
export type Absence = NonNullable<Presence["absence"]>;

/** Step of a poll loop: a poll, or the wait for the next one. */
export type PollEvent = Parameters<NonNullable<WatchOptions<unknown>["onPoll"]>>[0];

/** Milliseconds from a response to the next poll, or a function of the last snapshot. */
export type Interval<Task> = NonNullable<WatchOptions<Task>["intervalMs"]>;

/** Latest state of a task. */
export interface Snapshot {
  readonly state: string;
  /** The gateway's response, unchanged. */
  readonly raw?: unknown;
}

/** Reference to a task, as plain JSON. */
export interface TaskHandle {
  readonly id: string;
  /** Time until which the task can be polled; Unix milliseconds. */
  readonly queryableUntil?: number | undefined;
}

/** Returns the milliseconds from `task` to the next poll. */
export function findInterval<Task>(interval: Interval<Task>, task: Task | undefined): number {
  return typeof interval === "function" ? interval(task) : interval;
}
