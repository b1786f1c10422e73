import type { Client, SucceededVideoTask, VideoTask } from "@sluice/core";
import { delayRenewal, getLinkRenewalTime } from "../archive/expiring-link.js";
import type { WatchPlan } from "../tasks/watch-plan.js";

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

/** Creates the plan of a watch that also renews the task's links. */
export function createRenewingPlan(client: Client, usual: WatchPlan<VideoTask>): WatchPlan<VideoTask> {
  return {
    ...usual,
    async *poll(onPoll, signal, seen) {
      if (isOutdated(seen)) return yield await renewLink(client, seen);
      // a link may have expired before the page saw the end of the task
      for await (const next of usual.poll(onPoll, signal, seen))
        yield isOutdated(next) ? await renewLink(client, next) : next;
    },
    isFinal: isSettled,
    getDueAt: getRenewalTime,
  };
}

/** Returns the task with a new link. Never rejects: after a failure the old link stays, and the renewal is delayed. */
export function renewLink(client: Client, task: SucceededVideoTask): Promise<VideoTask> {
  return import("../archive/renewal.js")
    .then(({ renewTask }) => renewTask(client, task))
    .catch(() => delayRenewal(task));
}
