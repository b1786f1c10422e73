import { renewedLater } from "../archive/expiring-link.js";
import type { Client } from "../client.js";
import type { WatchPlan } from "../tasks/watch-plan.js";
import type { SucceededVideoTask, VideoTask } from "../vocabulary/video-task.js";
import { isSettled, renewalAt } from "./watch.js";

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
    .catch(() => renewedLater(task));
}
