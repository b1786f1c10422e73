import type { Client, SucceededVideoTask, VideoTask } from "@sluice/core";
import { delayRenewal, linkRenewalAt } from "@sluice/core/internal";
import type { WatchPlan } from "../tasks/watch-plan.js";

/** Returns the time from which the link of a task is renewed; infinity for a task without a copy. */
export function renewalAt(task: VideoTask | undefined): number {
  return task?.state === "succeeded" ? linkRenewalAt(task) : Number.POSITIVE_INFINITY;
}

/** Returns true if nothing is left to poll: the task is final, and its link works or can't be renewed. */
export function isSettled(task: VideoTask | undefined): boolean {
  return task?.state === "failed" || (task?.state === "succeeded" && renewalAt(task) > Date.now());
}

/** Returns true for a video whose link has expired, and can be renewed. */
export function isOutdated(task: VideoTask | undefined): task is SucceededVideoTask {
  return task?.state === "succeeded" && !isSettled(task);
}

/** Makes the plan of a watch that renews the task's links, too. */
export function renewingPlan(client: Client, usual: WatchPlan<VideoTask>): WatchPlan<VideoTask> {
  return {
    ...usual,
    async *poll(onPoll, signal, seen) {
      if (isOutdated(seen)) return yield await renewed(client, seen);
      // a link that has expired before the page saw the end is not shown
      for await (const next of usual.poll(onPoll, signal, seen))
        yield isOutdated(next) ? await renewed(client, next) : next;
    },
    isFinal: isSettled,
    dueAt: renewalAt,
  };
}

/** Returns the task with a new link. Never rejects: an old link is no reason to lose a video. */
export function renewed(client: Client, task: SucceededVideoTask): Promise<VideoTask> {
  return import("./archive.js")
    .then(({ renewedTask }) => renewedTask(client, task))
    .catch(() => delayRenewal(task));
}
