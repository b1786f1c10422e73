import type { Client, SucceededVideoTask, VideoTask } from "@sluice/core";

/** A file with a temporary link. A proxy may store a copy of it. */
export interface ExpiringLink {
  readonly url: string;
  readonly expiresAt?: number;
  readonly storedUntil?: number;
}

/** Returns the time to renew the link of a file, in Unix milliseconds; infinity without a copy. */
export function getLinkRenewalTime({ expiresAt, storedUntil = 0 }: ExpiringLink): number {
  return (storedUntil > Date.now() && expiresAt) || Number.POSITIVE_INFINITY;
}

/** Schedules the next renewal in a minute, after a failed one. */
export const delayRenewal = <File extends ExpiringLink>(file: File): File => ({
  ...file,
  expiresAt: Date.now() + 60_000,
});

/** Returns the time to renew the link of a task, in Unix milliseconds; infinity without a copy. */
export function getRenewalTime(task: VideoTask | undefined): number {
  return task?.state === "succeeded" ? getLinkRenewalTime(task) : Number.POSITIVE_INFINITY;
}

/** Returns true if the task needs no more polls: it is final, and its link works or can't be renewed. */
export function isSettled(task: VideoTask | undefined): boolean {
  return task?.state === "failed" || (task?.state === "succeeded" && getRenewalTime(task) > Date.now());
}

/** Returns true for a video whose link has expired and can be renewed. */
export function isOutdated(task: VideoTask | undefined): task is SucceededVideoTask {
  return task?.state === "succeeded" && !isSettled(task);
}

/** Returns the task with a new link. Never rejects: after a failure the old link stays, and the renewal is delayed. */
export function renewLink(client: Client, task: SucceededVideoTask): Promise<VideoTask> {
  return import("./renewal.js")
    .then(({ renewTask }) => renewTask(client, task))
    .catch(() => delayRenewal(task));
}

/** Creates the renewal of the links of a watched task. */
export function createRenewal(client: Client) {
  return {
    getDueAt: getRenewalTime,
    renew: (task: VideoTask) => renewLink(client, task as SucceededVideoTask),
  };
}
