import type { Client, SucceededVideoTask, VideoTask } from "@sluice/core";

/** Returns the time to renew the link of a video, in Unix milliseconds; infinity if the proxy has no copy. */
export function getRenewalTime(task: VideoTask | undefined): number {
  if (task?.state !== "succeeded") return Number.POSITIVE_INFINITY;
  const { expiresAt, storedUntil = 0 } = task;
  const isStored = storedUntil > Date.now();
  return (isStored && expiresAt) || Number.POSITIVE_INFINITY;
}

/** Returns true if the task needs no more polls: it is final, and its link works or can't be renewed. */
export function isSettled(task: VideoTask | undefined): boolean {
  return task?.state === "failed" || (task?.state === "succeeded" && getRenewalTime(task) > Date.now());
}

/** Returns true for a video whose link has expired and can be renewed. */
export function needsRenewal(task: VideoTask | undefined): task is SucceededVideoTask {
  return task?.state === "succeeded" && !isSettled(task);
}

/** Returns the task with a new link. Never rejects: after a failure the old link stays, and is renewed in a minute. */
export function renewLink(client: Client, task: SucceededVideoTask): Promise<VideoTask> {
  return import("./renewal.js")
    .then(({ renewTask }) => renewTask(client, task))
    .catch(() => ({ ...task, expiresAt: Date.now() + 60_000 }));
}

/** Creates the renewal of the links of a watched task. */
export function createRenewal(client: Client) {
  return {
    getDueAt: getRenewalTime,
    renew: (task: VideoTask) => renewLink(client, task as SucceededVideoTask),
  };
}
